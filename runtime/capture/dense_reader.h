// SPDX-License-Identifier: Apache-2.0
// DenseReader: reads a dh_tensor as if it were dense, in as many steps as the destination needs. Strides and planes are
// gathered on the way, run by run; nothing is buffered.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "dumphook/dumphook.h"

namespace dumphook {

// Scales of one tensor. Real models have one per output channel.
constexpr uint32_t kMaxQuantCount = 8192;

class DenseReader {
 public:
  // Checks the tensor; DH_ERR_TENSOR when it contradicts itself or its bytes are not there, DH_ERR_ARGUMENT for values
  // that are not of their enumeration.
  Status open(const dh_tensor& tensor);
  uint64_t total_bytes() const { return total_bytes_; }
  bool strided() const { return strided_; }
  // The next `bytes` dense bytes; never more than what is left. By wide_copy: see there what publishing needs.
  void read(uint8_t* out, uint64_t bytes);

 private:
  Status open_strides(const dh_tensor& tensor, uint64_t element_bytes);
  Status open_planes(const dh_tensor& tensor);
  bool next_run();

  const uint8_t* run_ = nullptr;  // what is left of the current run
  uint64_t run_left_ = 0;
  uint64_t run_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  bool strided_ = false;
  // Outer loop over runs: dimensions 0 ... outer_rank_ - 1 for strides, (plane, row) for planes.
  uint32_t outer_rank_ = 0;
  int64_t extent_[DH_MAX_RANK];  // those of the outer dimensions are set
  int64_t stride_[DH_MAX_RANK];
  int64_t index_[DH_MAX_RANK];
  const uint8_t* base_ = nullptr;
  const dh_tensor* planes_of_ = nullptr;
  uint32_t plane_ = 0;
  uint64_t row_ = 0;
};

}  // namespace dumphook
