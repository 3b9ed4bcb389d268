// SPDX-License-Identifier: Apache-2.0
#include "control_generated.h"

#include "wire/control.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "wire/format.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

using flatbuffers::FlatBufferBuilder;

// A size-prefixed message in aligned memory, as the host makes it.
class Message {
 public:
  Message(Command type, const std::function<flatbuffers::Offset<void>(FlatBufferBuilder&)>& make,
          uint64_t request_id = 0) {
    FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    builder.FinishSizePrefixed(CreateHostMessage(builder, 0, request_id, type, make(builder)));
    words_.resize((builder.GetSize() + 7) / 8);
    bytes_ = builder.GetSize();
    memcpy(words_.data(), builder.GetBufferPointer(), bytes_);
    seal();
  }

  void seal() {
    const Bytes message(data() + kSizePrefixBytes, bytes_ - kSizePrefixBytes);
    const size_t at = find_crc_field(message);
    store_le(message.data + at, message_crc(message, at));
  }

  uint8_t* data() { return reinterpret_cast<uint8_t*>(words_.data()); }
  ConstBytes view() { return ConstBytes(data(), bytes_); }

 private:
  std::vector<uint64_t> words_;
  size_t bytes_ = 0;
};

flatbuffers::Offset<void> hello(FlatBufferBuilder& builder) {
  const Uuid host(1, 2), session(0x1122334455667788, 4);
  return CreateHello(builder, 3, 1, 7, &host, &session, 99, true).Union();
}

TEST(HostMessage, Hello_ComesThroughWhole) {
  Message message(Command::Hello, hello, 5);
  HostMessageView view;
  ASSERT_TRUE(parse_host_message(message.view(), &view));
  EXPECT_EQ(HostCommand::kHello, view.command);
  EXPECT_EQ(5u, view.request_id);
  EXPECT_EQ(3, view.format_current);
  EXPECT_EQ(1, view.format_oldest);
  EXPECT_EQ(7, view.format_minor);
  EXPECT_EQ(1u, view.host.high);
  EXPECT_EQ(2u, view.host.low);
  EXPECT_EQ(0x1122334455667788u, view.session.high);
  EXPECT_EQ(4u, view.session.low);
  EXPECT_EQ(99u, view.durable_seq);
  EXPECT_TRUE(view.insecure);
}

TEST(HostMessage, HelloWithoutUuids_HasZeroOnes) {
  Message message(Command::Hello, [](FlatBufferBuilder& builder) { return CreateHello(builder, 1, 1).Union(); });
  HostMessageView view;
  ASSERT_TRUE(parse_host_message(message.view(), &view));
  EXPECT_TRUE(view.session == UuidValue());
}

TEST(HostMessage, Ack) {
  Message message(Command::Ack, [](FlatBufferBuilder& builder) { return CreateAck(builder, 1234567890123).Union(); });
  HostMessageView view;
  ASSERT_TRUE(parse_host_message(message.view(), &view));
  EXPECT_EQ(HostCommand::kAck, view.command);
  EXPECT_EQ(1234567890123u, view.durable_seq);
}

TEST(HostMessage, UnknownCommand_KeepsItsRequestId) {
  const auto ping = [](FlatBufferBuilder& builder) { return CreatePing(builder, 1).Union(); };
  for (const Command command : {Command::Ping, static_cast<Command>(200)}) {
    Message message(command, ping, 17);
    HostMessageView view;
    ASSERT_TRUE(parse_host_message(message.view(), &view));
    EXPECT_EQ(HostCommand::kUnknown, view.command);
    EXPECT_EQ(17u, view.request_id);
  }
}

TEST(HostMessage, WrongCrc_IsRefused) {
  Message message(Command::Hello, hello);
  message.data()[message.view().size - 1] ^= 1;
  HostMessageView view;
  EXPECT_FALSE(parse_host_message(message.view(), &view));
}

TEST(HostMessage, MisalignedOrOversized_IsRefused) {
  Message message(Command::Hello, hello);
  HostMessageView view;
  std::vector<uint64_t> words(message.view().size / 8 + 2);
  uint8_t* shifted = reinterpret_cast<uint8_t*>(words.data()) + 4;
  memcpy(shifted, message.data(), message.view().size);
  EXPECT_FALSE(parse_host_message(ConstBytes(shifted, message.view().size), &view));
  EXPECT_FALSE(parse_host_message(ConstBytes(message.data(), kSizePrefixBytes + kMaxHostMessageBytes + 1), &view));
  EXPECT_FALSE(parse_host_message(ConstBytes(), &view));
}

TEST(HostMessage, AnyBytes_AreReadSafely) {
  std::mt19937 random(10);
  Message original(Command::Hello, hello, 3);
  for (int i = 0; i < 50000; ++i) {
    Message message = original;
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      message.data()[random() % message.view().size] =
          static_cast<uint8_t>(random() % 2 == 0 ? random() : random() % 16);
    }
    // A right CRC takes the broken bytes as far in as they can get.
    if (find_crc_field(message.view().from(kSizePrefixBytes)) != 0) message.seal();
    HostMessageView view;
    (void)parse_host_message(message.view(), &view);
  }
}

}  // namespace
}  // namespace dumphook
