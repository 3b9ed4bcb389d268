// SPDX-License-Identifier: Apache-2.0
#include "capture/dense_reader.h"

#include <cstring>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/wide_copy.h"

namespace dumphook {

Status DenseReader::open(const dh_tensor& tensor) {
  const uint32_t bits = dtype_bits(tensor.dtype);
  if (bits == 0 || tensor.rank > DH_MAX_RANK || tensor.logical_rank > DH_MAX_RANK) return DH_ERR_ARGUMENT;
  if (tensor.plane_count > DH_MAX_PLANES || tensor.layout > DH_LAYOUT_TEXT) return DH_ERR_ARGUMENT;
  if (tensor.role > DH_ROLE_POSTPROCESSED || tensor.quant.kind > DH_QUANT_PER_AXIS) return DH_ERR_ARGUMENT;
  for (uint32_t i = 0; i < tensor.logical_rank; ++i) {
    if (tensor.logical_shape[i] < 0) return DH_ERR_TENSOR;
  }
  if (tensor.quant.kind != DH_QUANT_NONE) {
    if (tensor.quant.count == 0 || tensor.quant.scale == nullptr) return DH_ERR_TENSOR;
    if (tensor.quant.count > kMaxQuantCount) return DH_ERR_LIMIT;
    if (tensor.quant.kind == DH_QUANT_PER_TENSOR && tensor.quant.count != 1) return DH_ERR_TENSOR;
    if (tensor.quant.kind == DH_QUANT_PER_AXIS) {
      const int32_t axis = tensor.quant.axis;
      if (axis < 0 || static_cast<uint32_t>(axis) >= tensor.rank) return DH_ERR_TENSOR;
      if (tensor.shape[axis] != static_cast<int64_t>(tensor.quant.count)) return DH_ERR_TENSOR;
    }
  }
  if (tensor.plane_count != 0) return open_planes(tensor);
  if (!dense_bytes(tensor.dtype, tensor.rank, tensor.shape, &total_bytes_)) return DH_ERR_TENSOR;
  if (total_bytes_ > SIZE_MAX / 2) return DH_ERR_TENSOR;
  bool has_strides = false;
  for (uint32_t i = 0; i < tensor.rank; ++i) has_strides |= tensor.strides[i] != 0;
  if (total_bytes_ == 0) return DH_OK;
  if (tensor.data == nullptr) return DH_ERR_TENSOR;
  base_ = static_cast<const uint8_t*>(tensor.data);
  if (has_strides) {
    if (bits < 8) return DH_ERR_TENSOR;
    return open_strides(tensor, bits / 8);
  }
  if (tensor.data_bytes != 0 && tensor.data_bytes < total_bytes_) return DH_ERR_TENSOR;
  run_ = base_;
  run_left_ = run_bytes_ = total_bytes_;
  return DH_OK;
}

// The innermost dimensions that lie one after the other form a run; the others are looped over.
Status DenseReader::open_strides(const dh_tensor& tensor, uint64_t element_bytes) {
  uint64_t run = element_bytes;
  uint32_t outer = tensor.rank;
  while (outer > 0) {
    const uint32_t axis = outer - 1;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != static_cast<int64_t>(run)) break;
    run *= static_cast<uint64_t>(tensor.shape[axis]);
    --outer;
  }
  // Lowest and highest byte that will be read, relative to data.
  int64_t low = 0;
  int64_t high = static_cast<int64_t>(run);
  for (uint32_t i = 0; i < outer; ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &reach)) return DH_ERR_TENSOR;
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return DH_ERR_TENSOR;
    extent_[i] = tensor.shape[i];
    stride_[i] = tensor.strides[i];
    index_[i] = 0;
  }
  if (tensor.data_bytes != 0 && (low < 0 || static_cast<uint64_t>(high) > tensor.data_bytes)) return DH_ERR_TENSOR;
  outer_rank_ = outer;
  strided_ = outer != 0;
  run_ = base_;
  run_left_ = run_bytes_ = run;
  return DH_OK;
}

Status DenseReader::open_planes(const dh_tensor& tensor) {
  if (dtype_bits(tensor.dtype) < 8) return DH_ERR_TENSOR;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] < 0) return DH_ERR_TENSOR;
  }
  for (uint32_t i = 0; i < tensor.plane_count; ++i) {
    const dh_plane& plane = tensor.planes[i];
    uint64_t bytes = 0;
    if (!checked_mul(plane.row_bytes, plane.rows, &bytes) || !checked_add(total_bytes_, bytes, &total_bytes_)) {
      return DH_ERR_TENSOR;
    }
    if (bytes != 0 && plane.data == nullptr) return DH_ERR_TENSOR;
    if (plane.row_stride != 0 && plane.row_stride < plane.row_bytes) return DH_ERR_TENSOR;
    strided_ |= plane.row_stride > plane.row_bytes;
  }
  if (total_bytes_ > SIZE_MAX / 2) return DH_ERR_TENSOR;
  planes_of_ = &tensor;
  return DH_OK;
}

bool DenseReader::next_run() {
  if (planes_of_ != nullptr) {
    while (plane_ < planes_of_->plane_count) {
      const dh_plane& plane = planes_of_->planes[plane_];
      if (row_ < plane.rows && plane.row_bytes != 0) {
        const uint64_t stride = plane.row_stride == 0 ? plane.row_bytes : plane.row_stride;
        run_ = static_cast<const uint8_t*>(plane.data) + row_ * stride;
        run_left_ = plane.row_bytes;
        ++row_;
        return true;
      }
      ++plane_;
      row_ = 0;
    }
    return false;
  }
  for (uint32_t axis = outer_rank_; axis-- > 0;) {
    if (index_[axis] + 1 < extent_[axis]) {
      ++index_[axis];
      base_ += stride_[axis];
      run_ = base_;
      run_left_ = run_bytes_;
      return true;
    }
    base_ -= stride_[axis] * index_[axis];
    index_[axis] = 0;
  }
  return false;
}

void DenseReader::read(uint8_t* out, uint64_t bytes) {
  while (bytes != 0) {
    if (run_left_ == 0 && !next_run()) return;
    const uint64_t step = bytes < run_left_ ? bytes : run_left_;
    if (total_bytes_ >= kWideCopyBytes) {
      wide_copy(out, run_, static_cast<size_t>(step));
    } else {
      std::memcpy(out, run_, static_cast<size_t>(step));
    }
    out += step;
    run_ += step;
    run_left_ -= step;
    bytes -= step;
  }
}

}  // namespace dumphook
