// SPDX-License-Identifier: Apache-2.0
// From a tensor's parts to its values.
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "decode/capture_reader.h"
#include "decode/dtype.h"
#include "measure/xxh64.h"
#include "wire/codec.h"
#include "wire/format.h"

namespace dumphook {
namespace {

std::string place(const CapturedTensor& tensor, const std::string& path, uint64_t offset) {
  return tensor.name() + " of frame " + std::to_string(tensor.frame) + " (" + path + ", offset " +
         std::to_string(offset) + ")";
}

}  // namespace

Expected<Tensor> CaptureReader::load(const CapturedTensor& tensor) const {
  if (tensor.state != TensorState::whole) {
    const std::string why =
        tensor.why.empty() ? std::string("only its ") + tensor_state_name(tensor.state) + " was captured" : tensor.why;
    return Error{place(tensor, paths[tensor.file], tensor.file_offset) + " is not whole: " + why, "see dumphook info"};
  }
  Tensor out;
  try {
    out.bytes.resize(static_cast<size_t>(tensor.total_bytes));
  } catch (const std::exception&) {  // bad_alloc, length_error
    return Error{place(tensor, paths[tensor.file], tensor.file_offset) + " needs " +
                     std::to_string(tensor.total_bytes) + " bytes, more than there is memory",
                 ""};
  }
  std::vector<uint8_t> encoded;
  std::unique_ptr<uint64_t[]> scratch;
  for (const PartLocation& part : tensor.parts) {
    auto* to = reinterpret_cast<uint8_t*>(out.bytes.data()) + part.offset;
    const bool is_raw = part.codec == kCodecRaw;
    if (!is_raw) encoded.resize(part.stored_bytes);
    const int error = files_[part.file].source->read(part.file_offset, is_raw ? to : encoded.data(), part.stored_bytes);
    if (error != 0) {
      return Error{place(tensor, paths[part.file], part.file_offset) + " cannot be read: " + strerror(error),
                   "did the file change while it was read?"};
    }
    if (is_raw) continue;
    if (!scratch) scratch.reset(new uint64_t[kCodecScratchBytes / 8]);
    if (!decode_part(static_cast<uint32_t>(tensor.dtype), part.codec, ConstBytes(encoded.data(), encoded.size()),
                     Bytes(to, part.raw_bytes), scratch.get())) {
      return Error{place(tensor, paths[part.file], part.file_offset) + " is damaged: its " + codec_name(part.codec) +
                       " data do not decode to the size it says",
                   ""};
    }
  }
  if (tensor.digest && xxh64(out.bytes.data(), out.bytes.size(), 0) != *tensor.digest) {
    return Error{place(tensor, paths[tensor.file], tensor.file_offset) + " is damaged: its digest is another one", ""};
  }
  out.descriptor = *tensor.descriptor;
  out.descriptor.dtype = tensor.dtype;
  out.descriptor.shape = tensor.shape;
  if (!quantization_fits(out.descriptor.quantization, tensor.shape)) out.descriptor.quantization = {};
  out.frame = tensor.frame;
  out.instance = tensor.instance;
  out.occurrence = tensor.occurrence;
  return out;
}

}  // namespace dumphook
