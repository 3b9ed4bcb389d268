// SPDX-License-Identifier: Apache-2.0
#include "sink/stream_sink.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "board.h"
#include "peer.h"
#include "walk.h"

namespace dumphook {
namespace {

constexpr uint64_t kMs = 1000000;

std::vector<uint64_t> range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

class StreamSinkTest : public ::testing::Test {
 protected:
  void open(size_t spool_bytes = 1 << 20, uint32_t max_tensors = 64) {
    board_ = std::make_unique<Board>(spool_bytes, max_tensors);
    sink_ = std::make_unique<StreamSink>();
    transport_.open(peer_.local, "the peer");
    sink_->open(board_->context, &transport_);
  }
  void TearDown() override {
    if (sink_ != nullptr) sink_->abandon();
  }

  // Steps until nothing moves any more; the clock stands still, sockets do not.
  SinkStep settle() {
    SinkStep result;
    for (int idle = 0; idle < 3;) {
      result = board_->step(*sink_);
      idle = result.progressed ? 0 : idle + 1;
      if (!result.progressed && result.fd >= 0) {
        pollfd waiting = {result.fd, result.poll_events, 0};
        if (poll(&waiting, 1, 2) > 0) idle = 0;
        if (result.poll_events == POLLOUT || (waiting.revents & POLLIN) == 0) ++idle;
      }
    }
    return result;
  }
  void connect() {
    settle();
    ASSERT_TRUE(peer_.accept()) << board_->log;
    settle();
  }
  // Until the peer has everything that the sink gives it now.
  void exchange() {
    size_t before;
    do {
      before = peer_.bytes.size();
      settle();
      peer_.read();
    } while (peer_.bytes.size() != before);
  }
  Walked walk_peer() {
    Walked walked = walk(peer_.bytes);
    EXPECT_EQ(walked.wrong, "");
    return walked;
  }
  // Lets the clock reach the end of the hello window.
  void pass_hello() {
    board_->now_ns += 500 * kMs;
    settle();
  }

  Peer peer_;
  std::unique_ptr<Board> board_;
  TcpTransport transport_;
  std::unique_ptr<StreamSink> sink_;
};

TEST_F(StreamSinkTest, WithoutHello_WhatIsWrittenIsShipped) {
  open();
  board_->describe(1);
  for (uint32_t i = 0; i < 20; ++i) board_->emit(i % 4, 100);
  connect();
  exchange();
  EXPECT_EQ(sink_->state(), SinkState::open);
  EXPECT_EQ(board_->last_shipped_seq, 0u) << "not decided yet";
  pass_hello();
  EXPECT_EQ(board_->last_shipped_seq, 21u);
  EXPECT_FALSE(sink_->acknowledged());
  board_->emit(2, 10);
  exchange();
  EXPECT_EQ(board_->last_shipped_seq, 22u);
  sink_->finish();
  exchange();
  EXPECT_EQ(sink_->state(), SinkState::finished);
  EXPECT_FALSE(peer_.read());
  const Walked walked = walk_peer();
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.seqs, range(1, 22));
  EXPECT_EQ(walked.chunks, 0u);
}

// Until it is known whether somebody will acknowledge, nothing is given up: the spool may fill, for hello_ns at most.
TEST_F(StreamSinkTest, AFullSpoolWaitsForHello_ThenGoesOn) {
  open(64 << 10);
  connect();
  uint64_t emitted = 0;
  for (; board_->emit(0, 1000); ++emitted) exchange();
  EXPECT_GT(emitted, 20u);
  EXPECT_EQ(board_->last_shipped_seq, 0u);
  pass_hello();
  for (; emitted < 200; ++emitted) {
    ASSERT_TRUE(board_->emit(0, 1000)) << emitted;
    exchange();
  }
  EXPECT_EQ(walk_peer().seqs, range(1, 200));
}

TEST_F(StreamSinkTest, Acknowledged_OnlyWhatIsDurableIsShipped) {
  open();
  for (uint32_t i = 0; i < 20; ++i) board_->emit(i % 4, 100);
  connect();
  peer_.say(hello_bytes(0));
  exchange();
  EXPECT_TRUE(sink_->acknowledged());
  pass_hello();
  EXPECT_EQ(board_->last_shipped_seq, 0u);
  peer_.say(ack_bytes(7));
  exchange();
  EXPECT_EQ(board_->last_shipped_seq, 7u);
  EXPECT_EQ(sink_->durable_seq(), 7u);
  peer_.say(ack_bytes(3));
  exchange();
  EXPECT_EQ(sink_->durable_seq(), 7u) << "never goes back";
  sink_->finish();
  exchange();
  EXPECT_TRUE(walk_peer().sealed);
  EXPECT_EQ(sink_->state(), SinkState::open) << "waits for the rest";
  peer_.say(ack_bytes(20));
  settle();
  EXPECT_EQ(sink_->state(), SinkState::finished);
  EXPECT_EQ(board_->last_shipped_seq, 20u);
}

TEST_F(StreamSinkTest, ACollectorThatAcksAndLeaves_IsAGoodEnd) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say(hello_bytes(0));
  exchange();
  sink_->finish();
  exchange();
  peer_.say(ack_bytes(1));
  peer_.hang_up();
  settle();
  EXPECT_EQ(sink_->state(), SinkState::finished);
  EXPECT_EQ(board_->log.find("lost"), std::string::npos) << board_->log;
}

TEST_F(StreamSinkTest, HelloSkipsWhatThePeerHolds) {
  open(16 << 20);
  for (int i = 0; i < 1000; ++i) board_->emit(0, 12000);
  connect();  // the buffers of both kernels are smaller than that
  peer_.say(hello_bytes(998));
  settle();
  exchange();
  EXPECT_EQ(board_->last_shipped_seq, 998u);
  const std::vector<uint64_t> seqs = walk_peer().seqs;
  EXPECT_LT(seqs.size(), 1000u);
  EXPECT_EQ(seqs.back(), 1000u);
  EXPECT_EQ(seqs[seqs.size() - 2], 999u);
}

TEST_F(StreamSinkTest, HelloOfAnotherSession_MeansNothingIsDurable) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say(hello_bytes(1, 1, 1, 0x9999));
  exchange();
  EXPECT_TRUE(sink_->acknowledged());
  EXPECT_EQ(board_->last_shipped_seq, 0u);
}

TEST_F(StreamSinkTest, HelloOfAnotherVersion_GoesOnUnacknowledged) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say(hello_bytes(0, 7, 5));
  exchange();
  EXPECT_FALSE(sink_->acknowledged());
  EXPECT_EQ(board_->last_shipped_seq, 1u);
  EXPECT_NE(board_->log.find("format 5 to 7"), std::string::npos) << board_->log;
}

TEST_F(StreamSinkTest, WhatDoesNotExistCannotBeDurable) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say(hello_bytes(~uint64_t{0}));
  exchange();
  EXPECT_EQ(sink_->durable_seq(), 1u);
  board_->emit(0, 100);
  exchange();
  EXPECT_EQ(board_->last_shipped_seq, 1u);
}

TEST_F(StreamSinkTest, SomebodyTypesIntoNc_TheCaptureGoesOn) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say("hello?\nis anybody there?\n");
  exchange();
  EXPECT_EQ(sink_->state(), SinkState::open);
  peer_.say(std::string(100000, '!'));
  board_->emit(0, 100);
  exchange();
  EXPECT_EQ(walk_peer().seqs, range(1, 2));
  EXPECT_EQ(board_->last_shipped_seq, 2u);
}

TEST_F(StreamSinkTest, NcWithoutInput_TheCaptureGoesOn) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.half_close();
  exchange();
  const SinkStep step = settle();
  EXPECT_EQ(step.fd, -1) << "an ended input would wake for ever";
  pass_hello();
  board_->emit(0, 100);
  sink_->finish();
  exchange();
  EXPECT_EQ(sink_->state(), SinkState::finished);
  EXPECT_EQ(walk_peer().seqs, range(1, 2));
}

TEST_F(StreamSinkTest, ADamagedAck_CutsTheConnection_AndNothingIsLost) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say(hello_bytes(0));
  exchange();
  std::string bad = ack_bytes(1);
  bad[bad.size() - 3] ^= 1;
  peer_.say(bad);
  settle();
  EXPECT_EQ(sink_->state(), SinkState::absent);
  EXPECT_EQ(board_->last_shipped_seq, 0u);
  peer_.hang_up();
  board_->now_ns += 200 * kMs;
  connect();
  exchange();
  EXPECT_EQ(walk_peer().seqs, range(1, 1));
  EXPECT_EQ(walk_peer().metadata.at(0).at("stream"), "1");
}

TEST_F(StreamSinkTest, AnUnknownCommandOrALongMessage_IsPassedOver) {
  open();
  board_->emit(0, 100);
  connect();
  peer_.say(hello_bytes(0));
  flatbuffers::FlatBufferBuilder builder;
  peer_.say(host_message(builder, Command::Ping, CreatePing(builder, 1).Union()));
  std::string large(4 + 900000, 'x');
  store_le<uint32_t>(large.data(), 900000);
  for (size_t at = 0; at < large.size(); at += 50000) {
    peer_.say(large.substr(at, 50000));
    exchange();
  }
  peer_.say(ack_bytes(1));
  exchange();
  EXPECT_EQ(board_->last_shipped_seq, 1u) << board_->log;
}

TEST_F(StreamSinkTest, NobodyThere_ItTriesOn_LessAndLessOften) {
  open();
  peer_.stop_listening();
  EXPECT_EQ(sink_->state(), SinkState::starting);
  std::vector<uint64_t> delays;
  for (int i = 0; i < 12; ++i) {
    SinkStep step = board_->step(*sink_);
    while (step.fd >= 0 || step.progressed) step = board_->step(*sink_);
    EXPECT_EQ(sink_->state(), SinkState::absent);
    ASSERT_GT(step.wake_ns, board_->now_ns);
    delays.push_back(step.wake_ns - board_->now_ns);
    board_->now_ns = step.wake_ns;
  }
  EXPECT_LE(delays.front(), 100 * kMs);
  EXPECT_GE(delays.front(), 50 * kMs);
  EXPECT_GE(delays.back(), 2500 * kMs);
  EXPECT_LE(*std::max_element(delays.begin(), delays.end()), 5000 * kMs);
  EXPECT_EQ(std::count(board_->log.begin(), board_->log.end(), '\n'), 1) << board_->log;
  sink_->finish();
  board_->step(*sink_);
  EXPECT_EQ(sink_->state(), SinkState::finished) << "nothing to ship, nobody to tell";
}

TEST_F(StreamSinkTest, WhileNobodyIsThere_TheSessionMayDiscard) {
  open();
  peer_.stop_listening();
  settle();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(board_->emit(static_cast<uint32_t>(i % 5), 1000));
    while (!board_->spool.empty()) board_->spool.pop();
    board_->now_ns += kMs;
    board_->step(*sink_);
  }
}

TEST_F(StreamSinkTest, AStalledPeer_BlocksNobody_AndLosesNothing) {
  open(128 << 10);
  connect();
  peer_.say(hello_bytes(0));
  settle();
  int taken = 0;
  while (board_->emit(0, 1000) && taken < 100000) {
    ++taken;
    settle();
  }
  EXPECT_GE(taken, 100);
  EXPECT_LT(taken, 200);
  EXPECT_NE(board_->step(*sink_).poll_events & POLLIN, 0);
  exchange();
  EXPECT_EQ(walk_peer().seqs, range(1, static_cast<uint64_t>(taken)));
  peer_.say(ack_bytes(static_cast<uint64_t>(taken)));
  settle();
  EXPECT_TRUE(board_->spool.empty());
}

TEST_F(StreamSinkTest, ThePreambleIsWhole_EvenWhenTheSessionChangesMeanwhile) {
  open(4 << 20);
  for (uint32_t i = 0; i < 20; ++i) board_->describe(i, i == 5 ? 100000 : 300);
  connect();
  peer_.say(hello_bytes(20));
  exchange();
  EXPECT_EQ(board_->last_shipped_seq, 20u);
  peer_.hang_up();
  settle();
  board_->now_ns += 10000 * kMs;
  connect();  // the second preamble is larger than the buffers of both kernels
  for (uint32_t i = 0; i < 30; ++i) {
    board_->describe(20 + i, 200);          // new channels
    board_->describe(i == 5 ? 6 : i, 250);  // and new descriptions of old ones
    board_->emit(20 + i, 10);
    settle();
    peer_.read(2000);
  }
  exchange();
  const Walked walked = walk_peer();
  const std::set<uint64_t> repeats(walked.repeats.begin(), walked.repeats.end());
  for (uint64_t seq : repeats) EXPECT_LE(seq, 20u);
  EXPECT_EQ(walked.seqs, range(21, 110));
}

TEST_F(StreamSinkTest, UnacknowledgedCut_GoesOnWithTheEntryThatWasCut) {
  open(1 << 20);
  connect();
  pass_hello();
  for (int i = 0; i < 100; ++i) board_->emit(0, 20000 / 4);
  while (peer_.bytes.size() < 100000) {
    settle();
    peer_.read(1000);
  }
  const std::vector<uint64_t> before = walk_peer().seqs;
  const uint64_t shipped = board_->last_shipped_seq;
  EXPECT_GE(shipped, before.back());
  peer_.hang_up();
  settle();
  EXPECT_EQ(sink_->state(), SinkState::absent);
  board_->now_ns += 200 * kMs;
  connect();
  exchange();
  const Walked walked = walk_peer();
  EXPECT_EQ(walked.seqs, range(shipped + 1, 100));
  EXPECT_EQ(walked.metadata.at(0).at("first_stream_seq"), std::to_string(shipped + 1));
}

// A peer that reads a few bytes, keeps what is whole, acks some of it and cuts the cable, over and over.
class CutsAndStalls : public StreamSinkTest, public ::testing::WithParamInterface<unsigned> {};

TEST_P(CutsAndStalls, NothingIsLost_NothingIsKeptTwice) {
  std::mt19937 generator(GetParam());
  const auto random = [&generator] { return static_cast<uint32_t>(generator()); };
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  open(256 << 10);
  constexpr uint64_t kMessages = 600;
  std::vector<uint64_t> kept;
  uint64_t durable = 0;
  size_t cuts = 0;
  bool connected = false;
  const auto keep = [&] {
    const Walked walked = walk_peer();
    for (uint64_t seq : walked.seqs) {
      if (!kept.empty() && seq <= kept.back()) continue;
      ASSERT_EQ(seq, kept.size() + 1) << "a hole";
      kept.push_back(seq);
    }
  };
  for (int round = 0; round < 100000 && sink_->state() != SinkState::finished; ++round) {
    for (unsigned i = random() % 8; i > 0 && board_->state.next_stream_seq() <= kMessages; --i) {
      if (random() % 4 == 0) {
        board_->describe(random() % 30, random() % 500);
      } else {
        board_->emit(random() % 30, random() % 3000);
      }
    }
    if (board_->state.next_stream_seq() > kMessages) sink_->finish();
    board_->step(*sink_);
    board_->now_ns += random() % 100 * kMs;
    if (!connected) {
      board_->now_ns += 1000 * kMs;
      if (sink_->state() != SinkState::open) continue;
      ASSERT_TRUE(peer_.accept());
      // What was not synchronised is gone when the machine went down.
      if (random() % 2 == 0) kept.resize(durable);
      peer_.say(hello_bytes(durable = kept.size()));
      connected = true;
      continue;
    }
    peer_.read(random() % 3 == 0 ? 1 : random() % 20000);
    if (random() % 4 == 0) {
      keep();
      durable = kept.size();
      peer_.say(ack_bytes(durable));
    }
    if (random() % 20 == 0 && sink_->state() == SinkState::open) {
      ++cuts;
      connected = false;
      if (random() % 2 == 0) keep();
      if (random() % 2 == 0) peer_.half_close();
      peer_.hang_up();
    }
    if (sink_->state() == SinkState::absent) {
      connected = false;
      peer_.hang_up();
    }
  }
  EXPECT_EQ(sink_->state(), SinkState::finished) << board_->log;
  EXPECT_EQ(kept, range(1, board_->state.next_stream_seq() - 1));
  EXPECT_GT(cuts, 0u);
  EXPECT_TRUE(board_->spool.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CutsAndStalls, ::testing::Range(1u, 21u));

TEST(CallbackSink, TakesWhatItTakes_OneByteAtATime) {
  std::string got;
  CallbackTransport transport;
  transport.open(
      [](void* user, const void* data, size_t) -> int64_t {
        auto* text = static_cast<std::string*>(user);
        text->push_back(*static_cast<const char*>(data));
        return 1;
      },
      &got);
  Board board;
  auto sink = std::make_unique<StreamSink>();
  sink->open(board.context, &transport);
  for (uint32_t i = 0; i < 5; ++i) board.emit(i, 50);
  sink->finish();
  for (int i = 0; i < 100000 && sink->state() != SinkState::finished; ++i) board.step(*sink);
  const Walked walked = walk(got);
  EXPECT_EQ(walked.wrong, "");
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.seqs, range(1, 5));
  EXPECT_EQ(board.last_shipped_seq, 5u);
}

TEST(CallbackSink, ABusyCallback_IsAskedAgainSoon) {
  CallbackTransport transport;
  transport.open([](void*, const void*, size_t) -> int64_t { return 0; }, nullptr);
  Board board;
  auto sink = std::make_unique<StreamSink>();
  sink->open(board.context, &transport);
  SinkStep step = board.step(*sink);
  while (step.progressed) step = board.step(*sink);
  EXPECT_EQ(step.fd, -1);
  EXPECT_LE(step.wake_ns, board.now_ns + 50 * kMs);
}

TEST(CallbackSink, ACallbackThatGivesUp_OrLies_EndsTheSink) {
  for (const int64_t answer : {int64_t{-1}, int64_t{1} << 40}) {
    CallbackTransport transport;
    int64_t says = answer;
    transport.open([](void* user, const void*, size_t) -> int64_t { return *static_cast<int64_t*>(user); }, &says);
    Board board;
    auto sink = std::make_unique<StreamSink>();
    sink->open(board.context, &transport);
    for (int i = 0; i < 5; ++i) board.step(*sink);
    EXPECT_EQ(sink->state(), SinkState::failed);
  }
}

}  // namespace
}  // namespace dumphook
