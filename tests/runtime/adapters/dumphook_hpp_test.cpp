// SPDX-License-Identifier: Apache-2.0
#include "dumphook/dumphook.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace dumphook {
namespace {

dh_options to_callback(uint64_t* bytes) {
  dh_options options = dh_options_default();
  options.sink = "callback:";
  options.include = "*";
  options.on_bytes = [](void* user, const void*, size_t size) {
    *static_cast<uint64_t*>(user) += size;
    return static_cast<int64_t>(size);
  };
  options.on_bytes_user = bytes;
  return options;
}

dh_counter_values counters(const Session& session) {
  dh_counter_values values = dh_counter_values();
  values.struct_size = sizeof values;
  dh_counters(session.get(), &values);
  return values;
}

TEST(Session, ClosesWhatItHolds_OnceOnly_AlsoWhenMoved) {
  uint64_t bytes = 0;
  Session a, b;
  EXPECT_EQ(a.get(), nullptr);
  EXPECT_EQ(a.close(), DH_OK);
  ASSERT_EQ(a.open(to_callback(&bytes)), DH_OK);
  dh_session* opened = a.get();
  b = std::move(a);
  EXPECT_EQ(b.get(), opened);
  EXPECT_EQ(a.get(), nullptr);
  EXPECT_EQ(b.close(), DH_OK);
  EXPECT_EQ(b.get(), nullptr);
  EXPECT_GT(bytes, 0u);
}

TEST(Session, WithoutASession_EverythingIsSkipped) {
  dh_tap tap = DH_TAP_INIT;
  const float value = 1;
  Session session;
  Frame frame(session.get());
  EXPECT_EQ(frame.get(), 0u);
  EXPECT_EQ(frame.capture(&tap, tensor("x", &value, {})), DH_SKIPPED);
}

TEST(Frame, BeginsAndEnds) {
  uint64_t bytes = 0;
  dh_tap tap = DH_TAP_INIT;
  const std::string report = "one cat";
  Session session;
  ASSERT_EQ(session.open(to_callback(&bytes)), DH_OK);
  {
    Frame frame(session.get());
    EXPECT_NE(frame.get(), 0u);
    EXPECT_EQ(frame.capture(&tap, text("report", report)), DH_OK);
    EXPECT_EQ(counters(session).frames_begun, 1u);
    EXPECT_EQ(counters(session).frames_ended, 0u);
  }
  EXPECT_EQ(dh_flush(session.get(), 5000), DH_OK);
  EXPECT_EQ(counters(session).frames_ended, 1u);
  EXPECT_EQ(counters(session).shipped, 1u);
}

TEST(Tensor, IsDescribedByItsPointerAndShape) {
  const int8_t values[6] = {};
  const dh_tensor described = tensor("q", values, {2, 3}, DH_ROLE_OUTPUT);
  EXPECT_EQ(described.dtype, static_cast<uint32_t>(DH_I8));
  EXPECT_EQ(described.rank, 2u);
  EXPECT_EQ(described.shape[1], 3);
  EXPECT_EQ(described.role, static_cast<uint32_t>(DH_ROLE_OUTPUT));
  EXPECT_EQ(described.node_index, -1);
  EXPECT_EQ(described.struct_size, sizeof(dh_tensor));

  const dh_tensor photo = image("photo", reinterpret_cast<const uint8_t*>(values), 1, 2, DH_ROLE_INPUT, DH_LAYOUT_BGR);
  EXPECT_EQ(photo.layout, static_cast<uint32_t>(DH_LAYOUT_BGR));
  EXPECT_EQ(photo.rank, 3u);
}

TEST(Tensor, OfTooManyDimensions_IsRefused) {
  uint64_t bytes = 0;
  dh_tap tap = DH_TAP_INIT;
  const float value = 1;
  Session session;
  ASSERT_EQ(session.open(to_callback(&bytes)), DH_OK);
  Frame frame(session.get());
  EXPECT_LT(frame.capture(&tap, tensor("deep", &value, {1, 1, 1, 1, 1, 1, 1, 1, 1})), 0);
}

}  // namespace
}  // namespace dumphook
