// SPDX-License-Identifier: Apache-2.0
// ProblemList: what was found, bounded, since a hostile file may hold one problem per byte.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "source/problem.h"

namespace dumphook {

class ProblemList {
 public:
  static constexpr size_t kMaxKept = 1000;

  void add(Problem problem) {
    errors_ += problem.severity == Severity::error;
    if (kept_.size() < kMaxKept) {
      kept_.push_back(std::move(problem));
    } else {
      ++not_kept_;
    }
  }

  const std::vector<Problem>& kept() const { return kept_; }
  size_t not_kept() const { return not_kept_; }  // beyond kMaxKept, counted only
  size_t errors() const { return errors_; }      // also those not kept

 private:
  std::vector<Problem> kept_;
  size_t not_kept_ = 0;
  size_t errors_ = 0;
};

}  // namespace dumphook
