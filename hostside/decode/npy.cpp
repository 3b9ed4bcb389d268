// SPDX-License-Identifier: Apache-2.0
#include "decode/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "decode/dtype.h"
#include "decode/real_values.h"
#include "decode/stem.h"

namespace dumphook {
namespace {

constexpr uint8_t kMagic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr size_t kHeaderAlign = 64;
constexpr size_t kMaxHeaderBytes = size_t{1} << 20;
constexpr size_t kMaxNpyRank = 32;  // NumPy 1 knows no more

Error wrong(std::string what) { return Error{"not a .npy file that can be read: " + std::move(what), ""}; }

// The header: a Python dictionary literal of strings, booleans and a tuple of integers.
class Literal {
 public:
  explicit Literal(std::string text) : text_(std::move(text)) {}

  bool take(char expected) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  bool take_string(std::string* out) {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) return false;
    *out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool take_word(const char* word) {
    skip_space();
    if (text_.compare(at_, strlen(word), word) != 0) return false;
    at_ += strlen(word);
    return true;
  }
  bool take_integer(int64_t* out) {
    skip_space();
    const size_t begin = at_;
    uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (!checked_mul(value, 10, &value) || !checked_add(value, static_cast<uint64_t>(text_[at_] - '0'), &value))
        return false;
      ++at_;
    }
    if (at_ == begin || value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
    take_word("L");  // of Python 2
    *out = static_cast<int64_t>(value);
    return true;
  }
  bool take_shape(Shape* out) {
    if (!take('(')) return false;
    while (!take(')')) {
      int64_t dimension = 0;
      if (!take_integer(&dimension)) return false;
      out->push_back(dimension);
      if (!take(',')) return take(')');
    }
    return true;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  std::string text_;
  size_t at_ = 0;
};

struct NpyHeader {
  DType dtype = DType::raw;
  size_t element_bytes = 1;
  bool big_endian = false, fortran = false;
  Shape shape;
};

bool dtype_of(const std::string& descr, NpyHeader* out) {
  static constexpr struct {
    const char* code;
    DType dtype;
  } kTypes[] = {{"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16}, {"i8", DType::i64},
                {"i4", DType::i32}, {"i2", DType::i16}, {"i1", DType::i8},  {"u8", DType::u64},
                {"u4", DType::u32}, {"u2", DType::u16}, {"u1", DType::u8},  {"b1", DType::boolean}};
  if (descr.size() < 2) return false;
  const bool has_order = strchr("<>|=", descr[0]) != nullptr;
  const std::string code = has_order ? descr.substr(1) : descr;
  for (const auto& type : kTypes) {
    if (code != type.code) continue;
    out->dtype = type.dtype;
    out->element_bytes = dtype_bits(type.dtype) / 8;
    out->big_endian = descr[0] == '>' && out->element_bytes > 1;
    return true;
  }
  return false;
}

Expected<NpyHeader> parse_dictionary(const std::string& text) {
  NpyHeader header;
  Literal literal(text);
  bool has_type = false, has_order = false, has_shape = false;
  if (!literal.take('{')) return wrong("its header is no dictionary");
  while (!literal.take('}')) {
    std::string key;
    if (!literal.take_string(&key) || !literal.take(':')) return wrong("its header cannot be understood");
    if (key == "descr") {
      std::string descr;
      if (!literal.take_string(&descr)) return wrong("structured types are not supported");
      if (!dtype_of(descr, &header)) {
        Error error = wrong("its type '" + descr.substr(0, 16) + "' is not supported");
        error.todo = "convert it in NumPy, e.g. a.astype('float32')";
        return error;
      }
      has_type = true;
    } else if (key == "fortran_order") {
      header.fortran = literal.take_word("True");
      if (!header.fortran && !literal.take_word("False")) return wrong("fortran_order is neither True nor False");
      has_order = true;
    } else if (key == "shape") {
      if (!literal.take_shape(&header.shape)) return wrong("its shape cannot be understood");
      if (header.shape.size() > kMaxNpyRank) return wrong("it has more than 32 dimensions");
      has_shape = true;
    } else {
      return wrong("its header has the unknown key '" + key.substr(0, 32) + "'");
    }
    if (!literal.take(',')) {
      if (!literal.take('}')) return wrong("its header cannot be understood");
      break;
    }
  }
  if (!has_type || !has_order || !has_shape) return wrong("its header lacks descr, fortran_order or shape");
  return header;
}

// Writes element `i` of C order where Fortran order has it, the other way round.
void from_fortran(ConstBytes from, const NpyHeader& header, std::vector<std::byte>& to) {
  const size_t rank = header.shape.size();
  const size_t width = header.element_bytes;
  std::vector<size_t> stride(rank), index(rank, 0);
  size_t step = 1;
  for (size_t i = 0; i < rank; ++i) {
    stride[i] = step;
    step *= static_cast<size_t>(header.shape[i]);
  }
  size_t source = 0;
  for (size_t i = 0; i * width < to.size(); ++i) {
    memcpy(to.data() + i * width, from.data + source * width, width);
    for (size_t axis = rank; axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < static_cast<size_t>(header.shape[axis])) break;
      source -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::i64: return "<i8";
    case DType::u64: return "<u8";
    case DType::i32: return "<i4";
    case DType::u32: return "<u4";
    case DType::i16: return "<i2";
    case DType::u16: return "<u2";
    case DType::i8: return "|i1";
    case DType::boolean: return "|b1";
    default: return "|u1";
  }
}

std::string header_of(const char* descr, const Shape& shape) {
  std::string text = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (const int64_t dimension : shape) text += std::to_string(dimension) + ", ";
  if (shape.size() > 1)
    text.resize(text.size() - 2);
  else if (!shape.empty())
    text.pop_back();
  text += "), }";
  const size_t fixed = sizeof kMagic + 2 + 2;
  text.append(kHeaderAlign - (fixed + text.size() + 1) % kHeaderAlign, ' ');
  text += '\n';
  std::string header(reinterpret_cast<const char*>(kMagic), sizeof kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// The shape, or, where the bytes do not fit it, all elements in a row.
Shape shape_of(const Tensor& tensor) {
  const uint64_t count = stored_elements(tensor);
  if (element_count(tensor.descriptor.shape) == count) return tensor.descriptor.shape;
  return Shape{static_cast<int64_t>(count)};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

Expected<Tensor> parse_npy(ConstBytes file) {
  if (file.size < 10 || memcmp(file.data, kMagic, sizeof kMagic) != 0)
    return wrong("it does not begin with \\x93NUMPY");
  const uint8_t major = file[6];
  if (major < 1 || major > 3) return wrong("its version is " + std::to_string(major));
  const size_t prefix = major == 1 ? 10 : 12;
  if (file.size < prefix) return wrong("it ends in its header");
  const size_t header_bytes = major == 1 ? load_le<uint16_t>(file.data + 8) : load_le<uint32_t>(file.data + 8);
  if (header_bytes > file.size - prefix || header_bytes > kMaxHeaderBytes) return wrong("it ends in its header");
  Expected<NpyHeader> header =
      parse_dictionary(std::string(reinterpret_cast<const char*>(file.data + prefix), header_bytes));
  if (!header) return header.error();

  const std::optional<uint64_t> needed = dense_bytes(header->dtype, header->shape);
  const ConstBytes data = file.from(prefix + header_bytes);
  if (!needed || *needed > data.size) {
    return wrong("it holds " + std::to_string(data.size) + " bytes of values, and " + shape_text(header->shape) + " " +
                 dtype_name(header->dtype) + " needs " + (needed ? std::to_string(*needed) : "more than can be"));
  }
  Tensor tensor;
  tensor.descriptor.dtype = header->dtype;
  tensor.descriptor.shape = header->shape;
  tensor.bytes.resize(static_cast<size_t>(*needed));
  if (header->fortran && header->shape.size() > 1) {
    from_fortran(data, *header, tensor.bytes);
  } else if (*needed > 0) {
    memcpy(tensor.bytes.data(), data.data, tensor.bytes.size());
  }
  if (header->big_endian) {
    for (size_t i = 0; i < tensor.bytes.size(); i += header->element_bytes) {
      std::reverse(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i),
                   tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i + header->element_bytes));
    }
  }
  return tensor;
}

Expected<Tensor> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{"cannot open " + path + ": " + strerror(errno), ""};
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Error{"cannot read " + path, ""};
  Expected<Tensor> tensor = parse_npy(ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  if (!tensor) return Error{path + ": " + tensor.error().what, tensor.error().todo};
  tensor->descriptor.name = name_of_stem(std::filesystem::path(path).stem().string());
  return tensor;
}

NpyFile npy_of_stored(const Tensor& tensor) {
  NpyFile file;
  const DType dtype = tensor.descriptor.dtype;
  const Shape shape = shape_of(tensor);
  switch (dtype) {
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2: {
      Tensor plain;
      plain.descriptor.dtype = dtype;
      plain.descriptor.shape = tensor.descriptor.shape;
      plain.bytes = tensor.bytes;
      file.header = header_of("<f4", shape);
      file.data = bytes_of(real_values_f32(plain));
      file.note = std::string(dtype_name(dtype)) + " as float32";
      break;
    }
    case DType::i4:
    case DType::u4: {
      const std::vector<double> values = stored_values(tensor);
      file.data.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) file.data[i] = static_cast<std::byte>(static_cast<int>(values[i]));
      file.header = header_of(dtype == DType::i4 ? "|i1" : "|u1", shape);
      file.note = std::string(dtype_name(dtype)) + " as " + (dtype == DType::i4 ? "int8" : "uint8");
      break;
    }
    default:
      file.header = header_of(descr_of(dtype), shape);
      if (shape != tensor.descriptor.shape)
        file.note = "its bytes do not fit its shape " + shape_text(tensor.descriptor.shape);
      break;
  }
  return file;
}

NpyFile npy_of_real(const Tensor& tensor) {
  if (!is_quantized(tensor.descriptor)) return npy_of_stored(tensor);
  NpyFile file;
  file.header = header_of("<f4", shape_of(tensor));
  file.data = bytes_of(real_values_f32(tensor));
  file.note = std::string(dtype_name(tensor.descriptor.dtype)) + " as real values, float32";
  return file;
}

}  // namespace dumphook
