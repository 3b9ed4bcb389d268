// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

struct Handle {
  int number = 7;
};

Result<Handle> open(bool works) {
  if (!works) return DH_ERR_SINK;
  return Handle();
}

TEST(Result, WithAValue_IsOk) {
  const Result<Handle> handle = open(true);
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(DH_OK, handle.status());
  EXPECT_EQ(7, handle.value().number);
}

TEST(Result, WithAStatus_IsNotOk) {
  const Result<Handle> handle = open(false);
  EXPECT_FALSE(handle.ok());
  EXPECT_EQ(DH_ERR_SINK, handle.status());
}

TEST(Result, ValueOr_GivesTheOtherWithoutAValue) {
  EXPECT_EQ(3, Result<int>(3).value_or(5));
  EXPECT_EQ(5, Result<int>(DH_TIMEOUT).value_or(5));
}

}  // namespace
}  // namespace dumphook
