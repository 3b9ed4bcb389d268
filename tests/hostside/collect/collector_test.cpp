// SPDX-License-Identifier: Apache-2.0
#include "collect/collector.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "board.h"
#include "collect/host_message.h"
#include "sink/stream_sink.h"
#include "walk.h"

namespace dumphook {
namespace {

constexpr uint64_t kMs = 1000000;

std::vector<uint64_t> range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// A board with a sink that connects to the collector.
class LiveBoard {
 public:
  LiveBoard(const std::string& address, uint64_t number, const char* name, size_t spool_bytes = 1 << 20)
      : board(spool_bytes) {
    SessionInfo info;
    snprintf(info.uuid, sizeof info.uuid, "%016llx%016llx", 0x1234ull + number, 0x5678ull);
    uuid = info.uuid;
    info.board = name;
    board.state.set_info(info);
    EXPECT_TRUE(parse_uuid(info.uuid, &board.context.session_uuid));
    aim(address);
    sink = std::make_unique<StreamSink>();
    sink->open(board.context, &transport);
  }
  ~LiveBoard() { sink->abandon(); }

  void aim(const std::string& address) {
    Address parsed;
    EXPECT_EQ(parse_address(address.c_str(), &parsed), nullptr);
    Endpoints endpoints;
    EXPECT_EQ(resolve(parsed, false, &endpoints), nullptr);
    transport.close();
    transport.open(endpoints, "the collector");
  }
  SinkStep step() {
    board.now_ns += kMs;
    return board.step(*sink);
  }
  bool done() const { return sink->state() == SinkState::finished; }

  Board board;
  std::string uuid;
  TcpTransport transport;
  std::unique_ptr<StreamSink> sink;
};

class CollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/dumphook_collector_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
    options_.listen = "127.0.0.1:0";
    options_.folder = folder_;
    options_.say = [this](const std::string& line) { said_ += line + "\n"; };
  }
  void TearDown() override {
    collector_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open() {
    auto opened = Collector::open(options_);
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    collector_ = std::move(*opened);
  }
  void turn(int timeout_ms = 0) {
    const auto turned = collector_->turn(timeout_ms);
    EXPECT_TRUE(turned.ok()) << turned.error().what;
  }
  // Both sides until `until` holds.
  template <class Until>
  void run(std::vector<LiveBoard*> boards, const Until& until) {
    for (int i = 0; i < 20000; ++i) {
      bool progressed = false;
      for (LiveBoard* board : boards) progressed |= board->step().progressed;
      turn(progressed ? 0 : 1);
      if (until()) return;
    }
    FAIL() << "not in time: " << said_;
  }
  int connect_raw() {
    Address address;
    parse_address(collector_->address().c_str(), &address);
    Endpoints endpoints;
    resolve(address, false, &endpoints);
    TcpConnector connector;
    connector.start(endpoints, 0, 1000000000);
    while (connector.step(0) == ConnectState::connecting) continue;
    return connector.take();
  }
  Walked walk_file(const std::string& path) {
    Walked walked = walk(read_file(path));
    EXPECT_EQ(walked.wrong, "") << path;
    EXPECT_TRUE(walked.sealed) << path;
    EXPECT_EQ(walked.streams, 1u);
    return walked;
  }

  std::string folder_, said_;
  CollectorOptions options_;
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, TwoBoardsAtOnce_MakeTwoCompleteFiles) {
  open();
  LiveBoard one(collector_->address(), 1, "left eye"), two(collector_->address(), 2, "../../etc/right");
  LiveBoard* boards[] = {&one, &two};
  for (uint32_t i = 0; i < 1000; ++i) {
    for (LiveBoard* board : boards) {
      while (!board->board.emit(i % 20, i * 37 % 3000)) run({&one, &two}, [] { return true; });
    }
    if (i % 10 == 0) run({&one, &two}, [] { return true; });
  }
  one.sink->finish();
  two.sink->finish();
  run({&one, &two}, [&] { return one.done() && two.done() && collector_->sealed().size() == 2; });
  for (const CollectedSession& session : collector_->sealed()) {
    EXPECT_TRUE(session.complete());
    EXPECT_EQ(session.missing + session.damaged, 0u);
    EXPECT_EQ(walk_file(session.path).seqs, range(1, 1000));
    EXPECT_EQ(session.path.rfind(folder_ + "/", 0), 0u);
    EXPECT_EQ(session.path.find('/', folder_.size() + 1), std::string::npos) << "names are no paths";
  }
  EXPECT_EQ(one.board.last_shipped_seq, 1000u);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/left_eye-00000000.mcap"));
}

TEST_F(CollectorTest, AckedMeansOnDisk) {
  open();
  LiveBoard board(collector_->address(), 1, "b");
  for (uint32_t i = 0; i < 200; ++i) {
    board.board.emit(i % 3, 1000);
    run({&board}, [] { return true; });
    const Walked walked = walk(read_file(folder_ + "/b-00000000.mcap.part"));
    ASSERT_EQ(walked.wrong, "");
    ASSERT_GE(walked.seqs.size(), board.board.last_shipped_seq);
  }
  run({&board}, [&] { return board.board.last_shipped_seq == 200; });
}

TEST_F(CollectorTest, CutsAndReconnects_ContinueTheSameFile) {
  open();
  std::mt19937 random(7);
  LiveBoard board(collector_->address(), 1, "b");
  for (uint32_t i = 0; i < 2000;) {
    if (board.board.emit(i % 9, 800)) ++i;
    run({&board}, [] { return true; });
    if (random() % 100 == 0) board.transport.close();  // the cable
  }
  board.sink->finish();
  run({&board}, [&] { return board.done() && collector_->sealed().size() == 1; });
  const CollectedSession& session = collector_->sealed()[0];
  EXPECT_GT(session.streams, 5u);
  EXPECT_EQ(session.missing + session.damaged, 0u);
  EXPECT_EQ(walk_file(session.path).seqs, range(1, 2000));
}

TEST_F(CollectorTest, ACollectorThatDies_AndReturns_LosesNothing) {
  // The first one is a process that is killed.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto opened = Collector::open(options_);
    const std::string address = opened.ok() ? (*opened)->address() : "";
    if (write(pipe_ends[1], address.c_str(), address.size() + 1) < 0) _exit(1);
    for (;;) (void)(*opened)->turn(5);
  }
  char address[64] = {};
  ASSERT_GT(read(pipe_ends[0], address, sizeof address), 0);
  LiveBoard board(address, 1, "b", 4 << 20);
  for (uint32_t i = 0; i < 300; ++i) {
    while (!board.board.emit(i % 5, 5000)) {
      board.step();
      usleep(1000);
    }
    board.step();
    if (i % 10 == 0) usleep(2000);
  }
  for (int i = 0; i < 2000 && board.board.last_shipped_seq < 50; ++i) {
    board.step();
    usleep(1000);
  }
  EXPECT_GE(board.board.last_shipped_seq, 50u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  for (uint32_t i = 0; i < 300; ++i) {
    board.board.emit(i % 5, 3000);
    board.step();
  }
  open();
  board.aim(collector_->address());
  board.sink->finish();
  run({&board}, [&] { return board.done() && collector_->sealed().size() == 1; });
  EXPECT_EQ(walk_file(collector_->sealed()[0].path).seqs, range(1, 600));
  EXPECT_NE(said_.find("is back"), std::string::npos) << said_;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()), 1);
}

TEST_F(CollectorTest, AStoppedCollector_LeavesSealedFiles) {
  open();
  LiveBoard board(collector_->address(), 1, "b");
  for (uint32_t i = 0; i < 50; ++i) board.board.emit(i % 3, 100);
  run({&board}, [&] { return board.board.last_shipped_seq == 50; });
  EXPECT_EQ(collector_->open_sessions(), 1u);
  ASSERT_TRUE(collector_->stop().ok());
  ASSERT_EQ(collector_->sealed().size(), 1u);
  EXPECT_FALSE(collector_->sealed()[0].complete());
  EXPECT_EQ(walk_file(collector_->sealed()[0].path).seqs, range(1, 50));
}

TEST_F(CollectorTest, ABoardThatMissedTheLastAck_IsToldThatAllIsHere) {
  open();
  LiveBoard board(collector_->address(), 1, "b");
  for (uint32_t i = 0; i < 50; ++i) board.board.emit(i % 3, 100);
  board.sink->finish();
  // Everything arrives, but the cable is cut before the answer is read.
  for (int i = 0; i < 100; ++i) board.step();
  turn(100);
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_EQ(board.board.last_shipped_seq, 0u);
  board.transport.close();
  for (int i = 0; i < 5; ++i) turn(50);
  run({&board}, [&] { return board.done(); });
  EXPECT_EQ(board.board.last_shipped_seq, 50u);
  run({}, [&] { return collector_->sealed().size() == 1; });
  EXPECT_EQ(walk_file(collector_->sealed()[0].path).seqs, range(1, 50));
}

TEST_F(CollectorTest, OneFileForOneSession_RefusesTheSecond) {
  options_.file = folder_ + "/sub/run.mcap";
  open();
  LiveBoard one(collector_->address(), 1, "one"), two(collector_->address(), 2, "two");
  one.board.emit(0, 10);
  run({&one}, [&] { return one.board.last_shipped_seq == 1; });
  two.board.emit(0, 10);
  for (int i = 0; i < 50; ++i) run({&one, &two}, [] { return true; });
  EXPECT_NE(said_.find("one session only"), std::string::npos) << said_;
  one.sink->finish();
  run({&one}, [&] { return one.done() && collector_->sealed().size() == 1; });
  EXPECT_EQ(collector_->sealed()[0].path, options_.file);
  EXPECT_EQ(walk_file(options_.file).seqs, range(1, 1));
}

TEST_F(CollectorTest, AnExistingFileNeedsForce) {
  options_.file = folder_ + "/run.mcap";
  std::ofstream(options_.file) << "precious";
  const auto refused = Collector::open(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().todo.find("--force"), std::string::npos);
  options_.replace_file = true;
  open();
  EXPECT_EQ(read_file(options_.file), "precious") << "until there is something better";
  LiveBoard board(collector_->address(), 1, "b");
  board.board.emit(0, 10);
  board.sink->finish();
  run({&board}, [&] { return collector_->sealed().size() == 1; });
  EXPECT_EQ(walk_file(options_.file).seqs, range(1, 1));
}

TEST_F(CollectorTest, OtherMachinesNeedInsecure) {
  options_.listen = "0.0.0.0:0";
  const auto refused = Collector::open(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().todo.find("--insecure"), std::string::npos);
  options_.insecure = true;
  open();
}

TEST_F(CollectorTest, HostileBytes_HarmNobodyElse) {
  open();
  LiveBoard board(collector_->address(), 1, "b");
  // A true stream to mutate.
  std::string good;
  {
    CallbackTransport transport;
    transport.open(
        [](void* user, const void* data, size_t bytes) {
          static_cast<std::string*>(user)->append(static_cast<const char*>(data), bytes);
          return static_cast<int64_t>(bytes);
        },
        &good);
    Board other;
    SessionInfo info;
    snprintf(info.uuid, sizeof info.uuid, "%s", "ffffffffffffffffffffffffffffffff");
    other.state.set_info(info);
    auto sink = std::make_unique<StreamSink>();
    sink->open(other.context, &transport);
    for (uint32_t i = 0; i < 20; ++i) other.emit(i % 4, 100);
    sink->finish();
    while (sink->state() != SinkState::finished) other.step(*sink);
  }
  std::mt19937 random(5);
  uint32_t sent = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    if (round % 3 == 0) {
      for (char& c : bytes) c = static_cast<char>(random());
    } else {
      for (unsigned i = 0; i < 1 + random() % 20; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      bytes.resize(random() % bytes.size());
    }
    TcpSocket socket;
    socket.adopt(connect_raw());
    iovec run_of = {bytes.data(), bytes.size()};
    socket.send(&run_of, 1);
    if (board.board.emit(0, 100)) ++sent;
    run({&board}, [] { return true; });
    socket.close();
    turn();
  }
  board.sink->finish();
  run({&board}, [&] { return board.done(); });
  ASSERT_TRUE(collector_->stop().ok());
  bool found = false;
  for (const CollectedSession& session : collector_->sealed()) {
    const Walked walked = walk(read_file(session.path));
    if (session.session != board.uuid) continue;
    found = true;
    EXPECT_EQ(walked.wrong, "");
    EXPECT_EQ(walked.seqs, range(1, sent));
  }
  EXPECT_TRUE(found);
}

TEST_F(CollectorTest, WhereItCannotWrite_IsFoundBeforeItListens) {
  options_.folder = "/proc";
  auto opened = Collector::open(options_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().what.rfind("cannot write in /proc", 0), 0u) << opened.error().what;
  options_.file = folder_;
  EXPECT_FALSE(Collector::open(options_).ok()) << "a folder of the file's name";
  options_.file.clear();
  options_.folder = folder_;
  open();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CollectorTest, SessionWhoseBeginningLiesElsewhere_IsClosedButNotComplete) {
  open();
  LiveBoard board(collector_->address(), 1, "b");
  for (uint32_t i = 0; i < 50; ++i) board.board.emit(i % 3, 100);
  run({&board}, [&] { return board.board.last_shipped_seq == 50; });
  ASSERT_TRUE(collector_->stop().ok());
  options_.folder = folder_ + "/other";
  open();
  board.aim(collector_->address());
  for (uint32_t i = 0; i < 10; ++i) board.board.emit(i % 3, 100);
  board.sink->finish();
  run({&board}, [&] { return board.done() && collector_->sealed().size() == 1; });
  const CollectedSession& session = collector_->sealed()[0];
  EXPECT_TRUE(session.closed);
  EXPECT_FALSE(session.complete());
  EXPECT_EQ(session.missing, 50u);
}

}  // namespace
}  // namespace dumphook
