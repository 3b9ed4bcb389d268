#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the int8 twin of a float .tflite model: int8 weights (per channel) and int8 activations, input and outputs included.

    quantize.py FLOAT.tflite INT8.tflite PHOTO...

The photos calibrate the activation ranges. Layers keep their tensor names, so that the two models compare by name.
The same files give the same bytes: the ranges come from the reference kernels (plain C loops, the same sums on every CPU)
and are rounded outwards to 8 significant bits.
"""
import math
import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import interpreter as litert
from ai_edge_litert import schema_py_generated as schema
from ai_edge_quantizer import quantizer, recipe
from PIL import Image

# The int8 input is then real = q / 128, zero point 0. The natural [-1, 1] would put every pixel value exactly between two
# steps, where the last bit of a division decides which one it gets.
INPUT_RANGE = (-1.0, 127 / 128)


def load_photo(path, side):
    """The network's float input [1, side, side, 3]: RGB, centred on black with its aspect kept, 0..255 mapped to -1..1."""
    photo = Image.open(path).convert("RGB")
    shrink = side / max(photo.size)
    photo = photo.resize([max(1, round(length * shrink)) for length in photo.size], Image.Resampling.BOX)
    canvas = Image.new("RGB", (side, side))
    canvas.paste(photo, ((side - photo.width) // 2, (side - photo.height) // 2))
    return np.asarray(canvas, np.float32)[np.newaxis] / np.float32(127.5) - np.float32(1)


def opcode(model, node):
    """The node's schema.BuiltinOperator. Files of 2020 hold it in the deprecated field only, later ones may in either."""
    code = model.operatorCodes[node.opcodeIndex]
    return max(code.builtinCode, code.deprecatedBuiltinCode)


def fold_half_weights(model):
    """Replaces each fp16 constant behind a DEQUANTIZE node by the same constant in fp32, and drops the node. Exact."""
    graph = model.subgraphs[0]
    folded = {}  # the DEQUANTIZE node's output -> the constant
    nodes = []
    for node in graph.operators:
        source = graph.tensors[node.inputs[0]]
        buffer = model.buffers[source.buffer]
        if opcode(model, node) == schema.BuiltinOperator.DEQUANTIZE and buffer.data is not None:
            if source.type == schema.TensorType.FLOAT16:  # not yet folded through another node
                buffer.data = np.frombuffer(buffer.data.tobytes(), "<f2").astype("<f4").view(np.uint8)
                source.type = schema.TensorType.FLOAT32
            folded[node.outputs[0]] = node.inputs[0]
        else:
            nodes.append(node)

    kept = [i for i in range(len(graph.tensors)) if i not in folded]
    index = {old: new for new, old in enumerate(kept)} | {-1: -1}  # -1 is an absent optional input
    for node in nodes:
        node.inputs = [index[folded.get(i, i)] for i in node.inputs]
        node.outputs = [index[i] for i in node.outputs]
    graph.inputs = [index[i] for i in graph.inputs]
    graph.outputs = [index[i] for i in graph.outputs]
    graph.tensors = [graph.tensors[i] for i in kept]
    graph.operators = nodes

    for code in model.operatorCodes:  # the quantizer reads only the newer field
        code.builtinCode = max(code.builtinCode, code.deprecatedBuiltinCode)
    used = sorted({node.opcodeIndex for node in nodes})
    model.operatorCodes = [model.operatorCodes[i] for i in used]
    for node in nodes:
        node.opcodeIndex = used.index(node.opcodeIndex)


def round_outwards(low, high):
    """The range grown to numbers of 8 significant bits, so that it does not hang on the last bits of a float sum."""
    def step(value):
        return 2.0 ** (math.floor(math.log2(abs(value))) - 7) if value else 1.0
    return math.floor(low / step(low)) * step(low), math.ceil(high / step(high)) * step(high)


def calibrate(model, packed, photos):
    """{tensor name: its range}, in the quantizer's form: the mean over the photos and their mirror images of each one's
    least and greatest value. A rare extreme then clips, and all other values get finer steps. The graph's outputs keep
    their full range: scores that clip would lose the order of the best boxes."""
    graph = model.subgraphs[0]
    activations = sorted({*graph.inputs, *(i for node in graph.operators for i in node.outputs)})
    engine = litert.Interpreter(model_content=packed, num_threads=1, experimental_preserve_all_tensors=True,
                                experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    engine.allocate_tensors()

    seen = {i: [] for i in activations}
    for path in photos:
        upright = load_photo(path, int(graph.tensors[graph.inputs[0]].shape[1]))
        for photo in (upright, upright[:, :, ::-1]):
            engine.set_tensor(graph.inputs[0], photo)
            engine.invoke()
            for i in activations:
                values = engine.get_tensor(i)
                seen[i].append((values.min(), values.max()))

    unclipped = {*graph.outputs}
    for node in reversed(graph.operators):  # a RESHAPE takes the scale of its input
        if node.outputs[0] in unclipped and opcode(model, node) == schema.BuiltinOperator.RESHAPE:
            unclipped.add(node.inputs[0])
    ranges = {}
    for i, extremes in seen.items():
        low, high = np.array(extremes, np.float64).T
        ranges[i] = round_outwards(*((low.min(), high.max()) if i in unclipped else (low.mean(), high.mean())))
    ranges[graph.inputs[0]] = INPUT_RANGE

    result = {}
    for i, (low, high) in ranges.items():
        shape = [1] * len(graph.tensors[i].shape)
        result[graph.tensors[i].name.decode()] = {"min": np.full(shape, low, np.float32),
                                                  "max": np.full(shape, high, np.float32)}
    return result


def name_inputs_and_outputs(model):
    """Adds the signature through which the quantizer addresses the graph."""
    graph = model.subgraphs[0]

    def named(tensors):
        maps = []
        for i in tensors:
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = graph.tensors[i].name, i
            maps.append(entry)
        return maps
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = b"serving_default", 0
    signature.inputs, signature.outputs = named(graph.inputs), named(graph.outputs)
    model.signatureDefs = [signature]


def unpack(packed):
    """The model as objects, every constant inside its Buffer; runtimes of 2022 do not look for them behind the FlatBuffer."""
    model = schema.ModelT.InitFromPackedBuf(packed, 0)
    for buffer in model.buffers:
        if buffer.offset:
            buffer.data = np.frombuffer(packed, np.uint8, buffer.size, buffer.offset)
            buffer.offset = buffer.size = 0
    return model


def pack(model):
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def main(source, destination, *photos):
    if not photos:
        sys.exit("quantize.py: no photos to calibrate with; usage: quantize.py FLOAT.tflite INT8.tflite PHOTO...")
    model = unpack(pathlib.Path(source).read_bytes())
    fold_half_weights(model)
    name_inputs_and_outputs(model)
    packed = pack(model)
    result = quantizer.Quantizer(packed, recipe.static_wi8_ai8()).quantize(
        calibrate(model, packed, photos), enable_progress_bar=False, enable_progress_report=False)
    pathlib.Path(destination).write_bytes(pack(unpack(bytes(result.quantized_model))))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: quantize.py FLOAT.tflite INT8.tflite PHOTO...")
    main(*sys.argv[1:])
