// SPDX-License-Identifier: Apache-2.0
// TensorFlow Lite adapter: captures every layer of an unmodified .tflite model while it runs.
//
//     dumphook::tflite::HookDelegate hook(session, "face_detection");
//     hook.add_to(options);                                  // after all other delegates
//     TfLiteInterpreter* interpreter = TfLiteInterpreterCreate(model, options);
//     hook.bind(interpreter);                                // optional: the model's exact inputs and outputs
//
//     hook.set_frame(frame);                                 // per frame
//     TfLiteInterpreterInvoke(interpreter);                  // as ever
//
// How it works. The hook is a TfLiteDelegate that takes over no node. While TFLite prepares the graph, the hook
// replaces the `invoke` of each node by a function that calls the original and then captures the node's outputs: at the
// one moment when they are complete and their memory is not used again yet. What TFLite computes does not change.
//
// What is captured
//     model inputs   just before the first node runs; role preprocessed
//     node outputs   role output where they are outputs of the model, else intermediate
//     constants      weights never; layers that only unpack weights (DEQUANTIZE, DENSIFY) with capture_constants
//     delegates      of what another delegate (XNNPACK, ...) runs, only the tensors that leave it; its other layers are
//                    declared as inside it
//     If, While      their bodies count as models of their own, NAME#1, NAME#2, ... in TFLite's order
// Tensors have TFLite's names. One that is empty, too long or not the first of its name ends in "#<tensor index>".
// Nothing is captured of a node that fails, nor of a tensor that is in an accelerator's memory only.
//
// Rules
//   - A hook serves one interpreter and one session, and outlives the interpreter, as delegates must. An interpreter
//     may have several hooks, e.g. one per session.
//   - bind, set_frame and Invoke are for one thread at a time. Interpreters with hooks of their own run in parallel.
//   - Memory is allocated while TFLite prepares the graph, none while it runs.
//   - With a NULL session nothing is hooked.
//   - TFLite does not promise that registrations may be written to. The hook is tested with tested_version(), stays off
//     with any other unless any_version is set, and checks on each graph that the write took effect.
#ifndef DUMPHOOK_ADAPTERS_TFLITE_HPP
#define DUMPHOOK_ADAPTERS_TFLITE_HPP

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dumphook/adapters/tflite_graph.hpp"
#include "dumphook/adapters/tflite_trampoline.hpp"
#include "dumphook/dumphook.h"
#include "tensorflow/lite/c/c_api.h"
#include "tensorflow/lite/c/common.h"

namespace dumphook {
namespace tflite {

inline const char* tested_version() { return "2.9.0"; }

// All pointers must stay valid as long as the hook.
struct HookOptions {
  bool capture_constants = false;    // also layers that only unpack weights
  bool any_version = false;          // hook a TFLite other than tested_version()
  uint32_t instance = 0;             // dh_tensor.instance of all tensors
  const char* model_hash = nullptr;  // dh_model.hash

  void (*on_log)(void* user, dh_log_level level, const char* text) = nullptr;
  void* on_log_user = nullptr;

  // Test aid, a planted fault: this tensor is described with its scales multiplied by the factor. Its bytes stay.
  const char* plant_scale_tensor = nullptr;
  float plant_scale_factor = 1.0f;
};

inline dh_dtype dtype_of(TfLiteType type) {
  switch (type) {
    case kTfLiteFloat64: return DH_F64;
    case kTfLiteFloat32: return DH_F32;
    case kTfLiteFloat16: return DH_F16;
    case kTfLiteInt64: return DH_I64;
    case kTfLiteUInt64: return DH_U64;
    case kTfLiteInt32: return DH_I32;
    case kTfLiteUInt32: return DH_U32;
    case kTfLiteInt16: return DH_I16;
    case kTfLiteInt8: return DH_I8;
    case kTfLiteUInt8: return DH_U8;
    case kTfLiteBool: return DH_BOOL;
    default: return DH_RAW;  // strings, complex numbers, resources
  }
}

// Quantization as TFLite has it: affine, or in the older per-tensor form. Points into `from`.
inline dh_quant quant_of(const TfLiteTensor& from) {
  dh_quant quant = dh_quant();
  const TfLiteAffineQuantization* affine = from.quantization.type == kTfLiteAffineQuantization
                                               ? static_cast<const TfLiteAffineQuantization*>(from.quantization.params)
                                               : nullptr;
  if (affine && affine->scale && affine->scale->size > 0) {
    quant.kind = affine->scale->size == 1 ? DH_QUANT_PER_TENSOR : DH_QUANT_PER_AXIS;
    quant.axis = affine->scale->size == 1 ? 0 : affine->quantized_dimension;
    quant.count = static_cast<uint32_t>(affine->scale->size);
    quant.scale = affine->scale->data;
    const TfLiteIntArray* zero_point = affine->zero_point;
    quant.zero_point = zero_point && zero_point->size == affine->scale->size ? zero_point->data : nullptr;
  } else if (from.params.scale != 0.0f) {
    quant.kind = DH_QUANT_PER_TENSOR;
    quant.count = 1;
    quant.scale = &from.params.scale;
    quant.zero_point = &from.params.zero_point;
  }
  return quant;
}

// Bytes, type, shape, layout and quantization of a tensor as it is now; name and role are the caller's. Points into
// `from`.
inline dh_tensor describe(const TfLiteTensor& from) {
  dh_tensor to = dh_tensor_default();
  to.dtype = dtype_of(from.type);
  to.data = from.data.data;
  to.data_bytes = from.bytes;
  const int rank = from.dims ? from.dims->size : 0;
  if (to.dtype == DH_RAW || rank > DH_MAX_RANK) {
    to.dtype = DH_RAW;
    to.raw_type = TfLiteTypeGetName(from.type);
    to.rank = 1;
    to.shape[0] = static_cast<int64_t>(from.bytes);
    return to;
  }
  to.rank = static_cast<uint32_t>(rank);
  for (int i = 0; i < rank; ++i) to.shape[i] = from.dims->data[i];
  if (rank == 4) to.layout = DH_LAYOUT_NHWC;  // TFLite's convention
  const bool is_integer = to.dtype >= DH_I64 && to.dtype <= DH_U8;
  if (is_integer) to.quant = quant_of(from);
  return to;
}

class HookDelegate {
 public:
  // `model` is the name that the capture shows.
  HookDelegate(dh_session* session, const char* model, const HookOptions& options = HookOptions())
      : session_(session), model_(model), options_(options), delegate_() {
    delegate_.data_ = this;
    delegate_.Prepare = &prepare;
    delegate_.flags = kTfLiteDelegateFlagsAllowDynamicTensors;
    if (session_ && !options_.any_version && std::string(TfLiteVersion()) != tested_version()) {
      log(DH_LOG_WARNING, std::string("no layers are captured: this is TFLite ") + TfLiteVersion() +
                              ", and the hook is tested with " + tested_version() + "; any_version overrides this");
      session_ = nullptr;
    }
  }

  ~HookDelegate() {
    for (const std::unique_ptr<Subgraph>& subgraph : subgraphs_) {
      for (const Layer& layer : subgraph->layers) subgraph->hooked->remove(&layer);
      subgraph->hooked->leave();
    }
  }

  HookDelegate(const HookDelegate&) = delete;
  HookDelegate& operator=(const HookDelegate&) = delete;

  // Adds the hook to an interpreter that will be made with these options; without a session, nothing.
  void add_to(TfLiteInterpreterOptions* options) {
    if (session_) TfLiteInterpreterOptionsAddDelegate(options, &delegate_);
  }

  // For other ways of adding it. Never NULL.
  TfLiteDelegate* delegate() { return &delegate_; }

  // Tells the hook the model's inputs and outputs. Without it, tensors that no node makes are inputs and tensors that
  // no node reads are outputs, which is wrong where a node reads an output of the model.
  void bind(const TfLiteInterpreter* interpreter) {
    if (subgraphs_.empty()) return;
    Subgraph& main = *subgraphs_.front();
    bound_inputs_.clear();
    for (int32_t i = 0; i < TfLiteInterpreterGetInputTensorCount(interpreter); ++i) {
      bound_inputs_.push_back(index_of(main, TfLiteInterpreterGetInputTensor(interpreter, i)));
    }
    bound_outputs_.clear();
    for (int32_t i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter); ++i) {
      bound_outputs_.push_back(index_of(main, TfLiteInterpreterGetOutputTensor(interpreter, i)));
    }
    is_bound_ = true;
    set_roles(&main);
  }

  // The frame that the next Invoke belongs to; 0 = capture nothing.
  void set_frame(dh_frame frame) { frame_ = frame; }

 private:
  struct Subgraph;

  // A model input or layer output.
  struct Tap {
    dh_tap tap;
    size_t tensor;
    int node_index;
    int slot;
    const char* op;
    dh_role role;
    std::vector<char> origin_text;      // where the converter fused layers: their names, each with its end
    std::vector<const char*> origins;   // into origin_text
    std::vector<float> planted_scales;  // empty unless planted
  };

  // A node that TFLite invokes. A delegate's node ends several layers, any other node one.
  struct Layer final : NodeListener {
    HookDelegate* hook = nullptr;
    Subgraph* subgraph = nullptr;
    bool is_first = false;  // of the model
    std::vector<Tap> taps;

    void before_invoke() override {
      if (!is_first) return;
      for (Tap& tap : subgraph->inputs) hook->capture(*subgraph, &tap);
    }
    void after_invoke() override {
      for (Tap& tap : taps) hook->capture(*subgraph, &tap);
    }
  };

  struct Subgraph {
    TfLiteContext* context;
    HookedGraph* hooked;
    std::string model;
    std::vector<const void*> plan;  // the nodes that `layers` were made for
    Graph graph;
    std::vector<Layer> layers;  // one per node of the plan
    std::vector<Tap> inputs;
  };

  // TFLite calls this for each subgraph, the main one first, and again after a resize, which takes delegates off.
  static TfLiteStatus prepare(TfLiteContext* context, TfLiteDelegate* delegate) {
    static_cast<HookDelegate*>(delegate->data_)->hook_graph(context);
    return kTfLiteOk;  // whatever became of the hook, the model runs
  }

  void hook_graph(TfLiteContext* context) {
    TfLiteIntArray* ids = nullptr;
    if (!session_ || context->GetExecutionPlan(context, &ids) != kTfLiteOk || ids->size == 0) return;
    std::vector<PlanNode> plan(static_cast<size_t>(ids->size));
    std::vector<const void*> identities;
    bool is_new = true;
    for (int i = 0; i < ids->size; ++i) {
      PlanNode& node = plan[static_cast<size_t>(i)];
      if (!get_plan_node(context, ids->data[i], &node)) return;
      identities.push_back(node.node->outputs);
      if (HookedGraph::is_hooked(*node.registration)) is_new = false;
    }

    Subgraph* subgraph = subgraph_of(context);
    if (!subgraph) return;
    if (is_new) subgraph->hooked->forget_nodes();
    if (is_new || subgraph->plan != identities) {
      for (const Layer& layer : subgraph->layers) subgraph->hooked->remove(&layer);
      subgraph->plan = identities;
      make_layers(plan, subgraph);
      const dh_status status = declare_graph(session_, subgraph->model.c_str(), options_.model_hash, subgraph->graph);
      if (status < 0) log(DH_LOG_WARNING, subgraph->model + ": its layers are not declared: " + dh_status_text(status));
    }

    for (int i = 0; i < ids->size; ++i) {
      Layer& layer = subgraph->layers[static_cast<size_t>(i)];
      PlanNode& node = plan[static_cast<size_t>(i)];
      if (!node.registration->invoke || (layer.taps.empty() && !layer.is_first)) continue;
      PlanNode written;
      if (!subgraph->hooked->listen(*node.node, node.registration, &layer) ||
          !get_plan_node(context, ids->data[i], &written) || !HookedGraph::is_hooked(*written.registration)) {
        log(DH_LOG_ERROR, subgraph->model + ": no layers are captured: the nodes of this TFLite cannot be hooked");
        return;
      }
    }
  }

  // NULL without memory.
  Subgraph* subgraph_of(TfLiteContext* context) {
    for (const std::unique_ptr<Subgraph>& known : subgraphs_) {
      if (known->context == context) return known.get();
    }
    HookedGraph* hooked = HookedGraph::join(context);
    if (!hooked) return nullptr;
    std::unique_ptr<Subgraph> subgraph(new Subgraph());
    subgraph->context = context;
    subgraph->hooked = hooked;
    subgraph->model = model_ + (subgraphs_.empty() ? "" : "#" + std::to_string(subgraphs_.size()));
    subgraphs_.push_back(std::move(subgraph));
    return subgraphs_.back().get();
  }

  void make_layers(const std::vector<PlanNode>& plan, Subgraph* subgraph) {
    subgraph->graph = GraphReader(subgraph->context).read(plan);
    subgraph->layers.clear();
    subgraph->layers.resize(plan.size());
    for (Layer& layer : subgraph->layers) {
      layer.hook = this;
      layer.subgraph = subgraph;
    }
    subgraph->layers.front().is_first = subgraph == subgraphs_.front().get();
    for (GraphLayer& from : subgraph->graph.layers) {
      if (from.visibility == DH_CONSTANT && options_.capture_constants) from.visibility = DH_VISIBLE;
      if (from.visibility != DH_VISIBLE) continue;
      for (const GraphLayer::Output& output : from.outputs) {
        Tap tap = make_tap(*subgraph, output.tensor);
        tap.node_index = from.index;
        tap.slot = output.slot;
        tap.op = from.op;
        subgraph->layers[from.plan_position].taps.push_back(std::move(tap));
      }
    }
    set_roles(subgraph);
    const std::vector<std::string>& names = subgraph->graph.names;
    if (options_.plant_scale_tensor &&
        std::find(names.begin(), names.end(), options_.plant_scale_tensor) == names.end()) {
      log(DH_LOG_ERROR, subgraph->model + " has no tensor " + options_.plant_scale_tensor + " to plant a fault in");
    }
  }

  Tap make_tap(const Subgraph& subgraph, size_t tensor) const {
    Tap tap = Tap();
    tap.tensor = tensor;
    tap.node_index = -1;  // of a model input
    const std::string& name = subgraph.graph.names[tensor];
    if (name.find(';') != std::string::npos) {  // "a;b;c": one node does what were three
      tap.origin_text.assign(name.c_str(), name.c_str() + name.size() + 1);
      tap.origins.push_back(tap.origin_text.data());
      for (char& c : tap.origin_text) {
        if (c != ';') continue;
        c = '\0';
        tap.origins.push_back(&c + 1);
      }
    }
    if (options_.plant_scale_tensor && name == options_.plant_scale_tensor) {
      const dh_quant quant = quant_of(subgraph.context->tensors[tensor]);
      for (uint32_t i = 0; i < quant.count; ++i) {
        tap.planted_scales.push_back(quant.scale[i] * options_.plant_scale_factor);
      }
      log(DH_LOG_WARNING,
          name + (quant.count ? ": a wrong scale is planted" : ": it has no scale, nothing is planted"));
    }
    return tap;
  }

  void set_roles(Subgraph* subgraph) {
    const bool exact = is_bound_ && subgraph == subgraphs_.front().get();
    subgraph->inputs.clear();
    for (size_t tensor : exact ? bound_inputs_ : subgraph->graph.inputs) {
      subgraph->inputs.push_back(make_tap(*subgraph, tensor));
      subgraph->inputs.back().role = DH_ROLE_PREPROCESSED;
    }
    for (Layer& layer : subgraph->layers) {
      for (Tap& tap : layer.taps) {
        const bool is_output = contains(exact ? bound_outputs_ : subgraph->graph.outputs, tap.tensor);
        tap.role = is_output ? DH_ROLE_OUTPUT : DH_ROLE_INTERMEDIATE;
      }
    }
  }

  static size_t index_of(const Subgraph& subgraph, const TfLiteTensor* tensor) {
    return static_cast<size_t>(tensor - subgraph.context->tensors);
  }

  void capture(const Subgraph& subgraph, Tap* tap) {
    if (!frame_ || !dh_tap_on(&tap->tap)) return;
    const TfLiteTensor& value = subgraph.context->tensors[tap->tensor];
    if (value.data_is_stale || (!value.data.data && value.bytes > 0)) return;  // it is in an accelerator's memory
    dh_tensor tensor = describe(value);
    tensor.name = subgraph.graph.names[tap->tensor].c_str();
    tensor.model = subgraph.model.c_str();
    tensor.op = tap->op;
    tensor.origin_names = tap->origins.data();
    tensor.origin_count = static_cast<uint32_t>(tap->origins.size());
    tensor.role = tap->role;
    tensor.node_index = tap->node_index;
    tensor.output_slot = tap->slot;
    tensor.instance = options_.instance;
    if (tensor.quant.count && tensor.quant.count == tap->planted_scales.size()) {
      tensor.quant.scale = tap->planted_scales.data();
    }
    dh_capture(session_, &tap->tap, frame_, &tensor);
  }

  void log(dh_log_level level, const std::string& text) const {
    if (options_.on_log) options_.on_log(options_.on_log_user, level, ("tflite: " + text).c_str());
  }

  dh_session* session_;
  const std::string model_;
  const HookOptions options_;
  dh_frame frame_ = 0;
  TfLiteDelegate delegate_;
  std::vector<std::unique_ptr<Subgraph>> subgraphs_;  // the main one first
  bool is_bound_ = false;
  std::vector<size_t> bound_inputs_, bound_outputs_;  // tensors of the main subgraph
};

}  // namespace tflite
}  // namespace dumphook

#endif  // DUMPHOOK_ADAPTERS_TFLITE_HPP
