// SPDX-License-Identifier: Apache-2.0
#include "control/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace dumphook {
namespace {

using ::testing::HasSubstr;

struct Fresh {
  Fresh() { EXPECT_EQ(options->assign(dh_options_default(), &error), DH_OK); }
  Status lines(const std::string& text) { return options->set_lines(text.c_str(), "cfg", &error); }
  Status environment(std::vector<const char*> variables) {
    variables.push_back(nullptr);
    return options->read_environment(variables.data(), &error);
  }
  Status finish() { return options->finish(&error); }
  const dh_options& get() const { return options->get(); }

  std::unique_ptr<Options> options{new Options};
  ErrorText error;
};

// A file of `text` that is gone when the test program ends.
std::string temporary(const std::string& text) {
  struct Files {
    std::vector<std::string> paths;
    ~Files() {
      for (const std::string& path : paths) std::remove(path.c_str());
    }
  };
  static Files files;
  files.paths.push_back(::testing::TempDir() + "options_test_" + std::to_string(getpid()) + "_" +
                        std::to_string(files.paths.size()));
  std::ofstream(files.paths.back(), std::ios::binary) << text;
  return files.paths.back();
}

TEST(Options, KnowsEveryKeyOfTheHeader) {
  Fresh o;
  ASSERT_EQ(
      o.lines("sink = file:a b.mcap\n"
              "policy = block\nlevel = full\ninclude = a*, b\nexclude=c\nlevels = d=off\ntriggers =\n"
              "roles = input, output\nevery_nth = 2\nfirst_n = 3\nframe_first = 4\nframe_last = 5\n"
              "bytes_per_frame = 6k\nraw_pool_bytes = 7M\nspool_bytes = 8MiB\npretrigger_bytes = 0\n"
              "descriptor_bytes = 1G\nindex_bytes = 0x20000\nblock_bytes = 8K\npart_bytes = 64K\nmax_tensors = 9\n"
              "max_open_frames = 10\nblock_timeout_ms = 11\nwindow_ms = 12\nhello_ms = 13\nconnect_ms = 14\n"
              "close_ms = 15\nsync = interval\nsync_interval_ms = 16\non_full = rotate\nchunk_bytes = 17K\n"
              "segment_bytes = 18M\nsegment_ms = 19\nquota_bytes = 20G\nboard = b\nsoc = s\nsdk = k\nbuild = u\n"
              "model_hash = h\npsk_identity = i\npsk_file = f\nca_file = ca\ncert_file = ce\nkey_file = ke\n"
              "server_name = n\nthread_name = t\nthread_priority = -5\nthread_affinity = 0xF\nno_worker = on\n"
              "insecure = yes\nkeep_early = 1\ndigest = true\nallow_control = on\nallow_run = on\nallow_block = on\n"
              "allow_model = on\nno_compression = on\n"),
      DH_OK)
      << o.error.text;
  const dh_options& g = o.get();
  EXPECT_STREQ(g.sink, "file:a b.mcap");
  EXPECT_EQ(g.policy, DH_POLICY_BLOCK);
  EXPECT_EQ(g.level, DH_LEVEL_FULL);
  EXPECT_STREQ(g.include, "a*, b");
  EXPECT_STREQ(g.exclude, "c");
  EXPECT_STREQ(g.levels, "d=off");
  EXPECT_EQ(g.role_mask, 1u << DH_ROLE_INPUT | 1u << DH_ROLE_OUTPUT);
  EXPECT_EQ(g.every_nth, 2u);
  EXPECT_EQ(g.first_n, 3u);
  EXPECT_EQ(g.frame_first, 4u);
  EXPECT_EQ(g.frame_last, 5u);
  EXPECT_EQ(g.bytes_per_frame, 6u << 10);
  EXPECT_EQ(g.raw_pool_bytes, 7u << 20);
  EXPECT_EQ(g.spool_bytes, 8u << 20);
  EXPECT_EQ(g.descriptor_bytes, 1u << 30);
  EXPECT_EQ(g.index_bytes, 0x20000u);
  EXPECT_EQ(g.block_bytes, 8u << 10);
  EXPECT_EQ(g.part_bytes, 64u << 10);
  EXPECT_EQ(g.max_tensors, 9u);
  EXPECT_EQ(g.max_open_frames, 10u);
  EXPECT_EQ(g.block_timeout_ms, 11u);
  EXPECT_EQ(g.window_ms, 12u);
  EXPECT_EQ(g.hello_ms, 13u);
  EXPECT_EQ(g.connect_ms, 14u);
  EXPECT_EQ(g.close_ms, 15u);
  EXPECT_EQ(g.sync, DH_SYNC_INTERVAL);
  EXPECT_EQ(g.sync_interval_ms, 16u);
  EXPECT_EQ(g.on_full, DH_ON_FULL_ROTATE);
  EXPECT_EQ(g.chunk_bytes, 17u << 10);
  EXPECT_EQ(g.segment_bytes, 18u << 20);
  EXPECT_EQ(g.segment_ms, 19u);
  EXPECT_EQ(g.quota_bytes, uint64_t{20} << 30);
  EXPECT_STREQ(g.board, "b");
  EXPECT_STREQ(g.server_name, "n");
  EXPECT_STREQ(g.thread_name, "t");
  EXPECT_EQ(g.thread_priority, -5);
  EXPECT_EQ(g.thread_affinity, 0xFu);
  EXPECT_EQ(g.flags, 0x1FFu);
  EXPECT_EQ(o.lines("insecure = off\ndigest = 0\n"), DH_OK);
  EXPECT_EQ(g.flags, 0x1FFu & ~(DH_FLAG_INSECURE | DH_FLAG_DIGEST));
}

// The header is the manual: what it puts in brackets is a key, with these exceptions.
TEST(Options, TheHeadersKeysAreTheKeys) {
  std::ifstream header(DUMPHOOK_HEADER);
  ASSERT_TRUE(header.good());
  int keys = 0;
  for (std::string line; std::getline(header, line);) {
    for (size_t at = 0; (at = line.find('[', at)) != std::string::npos; ++at) {
      const size_t end = line.find(']', at);
      if (end == std::string::npos) break;
      const std::string key = line.substr(at + 1, end - at - 1);
      if (key.empty() || key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) continue;
      if (line.find("/*") > at) continue;  // code
      if (key == "axis") continue;
      Fresh o;
      const Status status = o.options->set(key.c_str(), "surely not valid", &o.error);
      EXPECT_EQ(std::strstr(o.error.text, "unknown key"), nullptr) << key << " " << status;
      ++keys;
    }
  }
  EXPECT_GT(keys, 40);
}

TEST(Options, NumbersAreDecimal_OrHexadecimalWith0x) {
  Fresh o;
  EXPECT_EQ(o.lines("every_nth = 010\n"), DH_OK);
  EXPECT_EQ(o.get().every_nth, 10u);
  EXPECT_EQ(o.lines("every_nth = 09\n"), DH_OK);
  EXPECT_EQ(o.lines("every_nth = 0x10\n"), DH_OK);
  EXPECT_EQ(o.get().every_nth, 16u);
}

TEST(Options, SayWhichLineIsWrong_AndWhy) {
  const struct {
    const char* line;
    const char* says;
  } kBad[] = {
      {"no equals sign", "not of the form"},        {"= value", "unknown key"},
      {"sinks = x", "unknown key \"sinks\""},       {"policy = maybe", "drop, drop_frame, degrade or block"},
      {"level = 3", "off, hash, stats or full"},    {"roles = input, outputs", "list of input"},
      {"every_nth = -1", "whole number"},           {"every_nth = 1K", "whole number"},
      {"every_nth = 4294967296", "whole number"},   {"every_nth =", "whole number"},
      {"every_nth = 0x", "whole number"},           {"first_n = 99999999999999999999", "whole number"},
      {"raw_pool_bytes = 12Q", "number of bytes"},  {"raw_pool_bytes = 18014398509481984K", "number of bytes"},
      {"raw_pool_bytes = 1 M", "number of bytes"},  {"block_bytes = 4G", "number of bytes"},
      {"thread_priority = --5", "whole number"},    {"thread_priority = 5000", "whole number"},
      {"insecure = perhaps", "on or off"},          {"sync = always", "never, close, interval or chunk"},
      {"on_full = panic", "stop, retry or rotate"},
  };
  for (const auto& bad : kBad) {
    Fresh o;
    EXPECT_EQ(o.lines(std::string("# comment\n\n   \t\r\nboard = x\n") + bad.line + "\nsoc = y\n"), DH_ERR_OPTION)
        << bad.line;
    EXPECT_THAT(o.error.text, HasSubstr("cfg, line 5")) << bad.line;
    EXPECT_THAT(o.error.text, HasSubstr(bad.says)) << bad.line;
  }
}

TEST(Options, LinesMayEndAsOnAnySystem_AndTheLastNotAtAll) {
  Fresh o;
  EXPECT_EQ(o.lines("board = x\r\n  soc\t=  y z  \r\nsdk=k"), DH_OK);
  EXPECT_STREQ(o.get().board, "x");
  EXPECT_STREQ(o.get().soc, "y z");
  EXPECT_STREQ(o.get().sdk, "k");
}

TEST(Options, RefuseTextsBeyondTheirLimits) {
  Fresh o;
  EXPECT_EQ(o.lines("board = " + std::string(5000, 'x')), DH_ERR_LIMIT);
  Fresh many;
  Status status = DH_OK;
  for (int i = 0; i < 10 && status == DH_OK; ++i) status = many.lines("board = " + std::string(4000, 'x'));
  EXPECT_EQ(status, DH_ERR_LIMIT);
  EXPECT_THAT(many.error.text, HasSubstr("line 1"));
}

TEST(Options, FilesAreRead_AndTheirTroublesTold) {
  Fresh o;
  EXPECT_EQ(o.options->read_file(temporary("board = from file\n").c_str(), &o.error), DH_OK);
  EXPECT_STREQ(o.get().board, "from file");
  EXPECT_EQ(o.options->read_file("/nonexistent/x.cfg", &o.error), DH_ERR_OPTION);
  EXPECT_THAT(o.error.text, HasSubstr("/nonexistent/x.cfg"));
  EXPECT_EQ(o.options->read_file("/", &o.error), DH_ERR_OPTION);
  EXPECT_EQ(o.options->read_file(temporary(std::string(20000, '#')).c_str(), &o.error), DH_ERR_LIMIT);
  const std::string with_nul("board = a\n\0soc = b\n", 19);
  EXPECT_EQ(o.options->read_file(temporary(with_nul).c_str(), &o.error), DH_ERR_OPTION)
      << "else the rest is silently ignored";
  const std::string path = temporary("board = a\nnonsense\n");
  EXPECT_EQ(o.options->read_file(path.c_str(), &o.error), DH_ERR_OPTION);
  EXPECT_THAT(o.error.text, HasSubstr(path + ", line 2"));
}

// What its notes say goes to `notes`.
void hear(Fresh* o, std::vector<std::string>* notes) {
  dh_options options = dh_options_default();
  options.on_log_user = notes;
  options.on_log = [](void* user, dh_log_level level, const char* text) {
    EXPECT_EQ(level, DH_LOG_INFO);
    static_cast<std::vector<std::string>*>(user)->push_back(text);
  };
  ASSERT_EQ(o->options->assign(options, &o->error), DH_OK);
}

// As SigmaStar's documentation prints it, with a path filled in.
constexpr char kDebugConfig[] =
    "dumpTensor # Dump网络模型各层数据总开关,需打开。(默认关闭)\r\n"
    "eliminateGarbage # Dump网络模型数据时去除无用数据,需打开。\r\n"
    "dequantFixed # 针对定点网络模型,将整形数据转换为浮点数据,需打开。(默认关闭)\r\n"
    "#dumpasstring # Dump网络模型数据为字符串类型,关闭选项为二进制文件类型。\r\n"
    "#disableDomainFuseOps # 转换定点网络模型时,取消网络层融合(建议关闭)。\r\n"
    "path=/home/user # 指定生成档案的输出全路径(path= 后面确保填写类似 **/home/user** 的绝对路径。)\r\n";

TEST(Options, DebugConfigOfSigmaStar_IsAConfigFile) {
  Fresh o;
  std::vector<std::string> notes;
  hear(&o, &notes);
  const std::string config = "DUMPHOOK_CONFIG=" + temporary(kDebugConfig);
  ASSERT_EQ(o.environment({config.c_str()}), DH_OK) << o.error.text;
  EXPECT_STREQ(o.get().include, "*");
  EXPECT_STREQ(o.get().sink, "file:/home/user/dumphook.mcap");
  EXPECT_THAT(notes, ::testing::Contains(HasSubstr("dequantFixed: not needed")));
  EXPECT_THAT(notes, ::testing::Not(::testing::Contains(HasSubstr("dumpasstring"))));
  ASSERT_EQ(o.finish(), DH_OK) << o.error.text;
}

TEST(Options, DebugConfigWithoutAPath_WritesToHome) {
  ASSERT_NE(std::getenv("HOME"), nullptr);
  const std::string home = "file:" + std::string(std::getenv("HOME")) + "/dumphook.mcap";
  for (const char* text : {"dumpTensor\n", "dumpTensor # on=1\npath= # fill in\n", "path=\ndumpTensor"}) {
    Fresh o;
    ASSERT_EQ(o.lines(text), DH_OK) << o.error.text;
    EXPECT_EQ(o.get().sink, home) << text;
  }
  Fresh o;
  ASSERT_EQ(o.lines("sink = tcp://10.0.0.1:9000\ndumpTensor\ninclude = conv*\n"), DH_OK);
  EXPECT_STREQ(o.get().sink, "tcp://10.0.0.1:9000");
  EXPECT_STREQ(o.get().include, "conv*");
}

TEST(Options, SwitchesOfDebugConfigThatMeanNothingHere_AreExplained) {
  Fresh o;
  std::vector<std::string> notes;
  hear(&o, &notes);
  ASSERT_EQ(o.lines("dumpasstring\ndisableDomainFuseOps\t# yes\n"), DH_OK) << o.error.text;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("export --format txt"));
  EXPECT_THAT(notes[1], HasSubstr("converter"));
  EXPECT_EQ(o.get().include, nullptr);

  EXPECT_EQ(o.lines("dumpTensors"), DH_ERR_OPTION);
  EXPECT_THAT(o.error.text, HasSubstr("key = value"));
  EXPECT_EQ(o.lines("path = /" + std::string(1100, 'x')), DH_ERR_LIMIT);
  Selection selection;
  EXPECT_EQ(set_selection_lines("dumpTensor", &selection, &o.error), DH_ERR_OPTION);
}

TEST(Options, TheEnvironmentBeatsTheConfigFile_WhichBeatsTheCode) {
  dh_options code = dh_options_default();
  code.board = "code";
  code.soc = "code";
  code.sdk = "code";
  Fresh o;
  ASSERT_EQ(o.options->assign(code, &o.error), DH_OK);
  const std::string config = "DUMPHOOK_CONFIG=" + temporary("soc = file\nsdk = file\n");
  ASSERT_EQ(o.environment({"PATH=/bin", "DUMPHOOK_SDK=environment", config.c_str(), "DUMPHOOK_META_X=1",
                           "DUMPHOOK_NO_SUCH_KEY=1", "DUMPHOOK_", "DUMPHOOK_BOARD"}),
            DH_OK)
      << o.error.text;
  EXPECT_STREQ(o.get().board, "code");
  EXPECT_STREQ(o.get().soc, "file");
  EXPECT_STREQ(o.get().sdk, "environment");
}

TEST(Options, AWrongVariableIsNamed) {
  Fresh o;
  EXPECT_EQ(o.environment({"DUMPHOOK_EVERY_NTH=often"}), DH_ERR_OPTION);
  EXPECT_THAT(o.error.text, HasSubstr("DUMPHOOK_EVERY_NTH"));
  Fresh file;
  EXPECT_EQ(file.environment({"DUMPHOOK_CONFIG=/nonexistent"}), DH_ERR_OPTION);
  Fresh empty;
  EXPECT_EQ(empty.environment({"DUMPHOOK_CONFIG="}), DH_OK);
  EXPECT_EQ(empty.options->read_environment(nullptr, &empty.error), DH_OK);
}

TEST(Options, OwnTheirTexts) {
  std::string board = "first";
  dh_options code = dh_options_default();
  code.board = board.c_str();
  Fresh o;
  ASSERT_EQ(o.options->assign(code, &o.error), DH_OK);
  board = "other";
  EXPECT_STREQ(o.get().board, "first");
}

TEST(Options, TakeAnOlderCallersShorterStruct_AndRefuseNonsense) {
  dh_options code = dh_options_default();
  code.board = "not covered";
  code.sink = "file:x";
  code.struct_size = offsetof(dh_options, include);
  Fresh o;
  ASSERT_EQ(o.options->assign(code, &o.error), DH_OK);
  EXPECT_STREQ(o.get().sink, "file:x");
  EXPECT_EQ(o.get().board, nullptr);
  for (const uint32_t size : {0u, 4u, 70000u}) {
    code.struct_size = size;
    EXPECT_EQ(o.options->assign(code, &o.error), DH_ERR_ARGUMENT) << size;
  }
}

TEST(Options, FinishFillsInTheDefaults) {
  Fresh o;
  ASSERT_EQ(o.finish(), DH_OK) << o.error.text;
  EXPECT_EQ(o.get().raw_pool_bytes, 16u << 20);
  EXPECT_EQ(o.get().spool_bytes, 8u << 20);
  EXPECT_EQ(o.get().max_open_frames, 64u);
  EXPECT_STREQ(o.get().thread_name, "dumphook");
}

TEST(Options, FinishRefusesWhatDoesNotFitTogether) {
  const char* const kBad[] = {"block_bytes = 3000",
                              "block_bytes = 2048",
                              "block_bytes = 2M",
                              "part_bytes = 20000",
                              "part_bytes = 32M",
                              "raw_pool_bytes = 1M",
                              "spool_bytes = 1M",
                              "descriptor_bytes = 1K",
                              "index_bytes = 1K",
                              "max_tensors = 70000",
                              "max_open_frames = 65",
                              "quota_bytes = 1M",
                              "pretrigger_bytes = 1M\npart_bytes = 512K",
                              "spool_bytes = 128K\npart_bytes = 16K",
                              "descriptor_bytes = 17000000000G",
                              "index_bytes = 17000000000G",
                              "spool_bytes = 17000000000G",
                              "raw_pool_bytes = 17000000000G",
                              "raw_pool_bytes = 1024G"};
  for (const char* bad : kBad) {
    Fresh o;
    ASSERT_EQ(o.lines(bad), DH_OK) << bad;
    EXPECT_LT(o.finish(), 0) << bad;
    EXPECT_NE(o.error.text[0], '\0') << bad;
  }
  dh_options code = dh_options_default();
  for (uint32_t dh_options::*field :
       {&dh_options::policy, &dh_options::level, &dh_options::sync, &dh_options::on_full}) {
    code = dh_options_default();
    code.*field = 99;
    Fresh o;
    ASSERT_EQ(o.options->assign(code, &o.error), DH_OK);
    EXPECT_EQ(o.finish(), DH_ERR_OPTION);
  }
}

TEST(Options, RandomBytesAreRefusedOrTaken_NothingElse) {
  std::mt19937 random(3);
  const char* const kWords[] = {
      "include", "=",     " ",     "\n",  "levels", "*",  ",",      "[",     "]",    "raw_pool_bytes",      "4K", "#",
      "0x",      "roles", "input", "off", "\t",     "\r", "policy", "block", "sink", "99999999999999999999"};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t i = random() % 40; i != 0; --i) {
      if (random() % 3 == 0) {
        text += static_cast<char>(1 + random() % 255);
      } else {
        text += kWords[random() % (sizeof kWords / sizeof kWords[0])];
      }
    }
    Fresh o;
    Status status = o.lines(text);
    if (status == DH_OK) status = o.finish();
    EXPECT_EQ(status < 0, o.error.text[0] != '\0');
    Selection selection;
    ErrorText error;
    const Selection before = selection;
    if (set_selection_lines(text.c_str(), &selection, &error) != DH_OK) {
      EXPECT_EQ(memcmp(&before, &selection, sizeof selection), 0) << "a refused change changes nothing";
    }
  }
}

TEST(SelectionLines, ChangeOnlyWhatTheyName) {
  Selection selection;
  ErrorText error;
  ASSERT_EQ(set_selection_lines("include = a,b\nevery_nth = 5", &selection, &error), DH_OK);
  ASSERT_EQ(
      set_selection_lines("exclude = b\nlevels = c=off\nbytes_per_frame = 1K\nroles = output", &selection, &error),
      DH_OK);
  EXPECT_STREQ(selection.include, "a,b");
  EXPECT_STREQ(selection.exclude, "b");
  EXPECT_STREQ(selection.levels, "c=off");
  EXPECT_EQ(selection.every_nth, 5u);
  EXPECT_EQ(selection.bytes_per_frame, 1024u);
  EXPECT_EQ(selection.role_mask, 1u << DH_ROLE_OUTPUT);
}

TEST(SelectionLines, RefuseWhatCannotChangeWhileRunning) {
  Selection selection;
  ErrorText error;
  for (const char* line : {"sink = x", "policy = block", "raw_pool_bytes = 1M", "nonsense = 1", "levels = a",
                           "levels = a=loud", "triggers = naan"}) {
    EXPECT_LT(set_selection_lines(line, &selection, &error), 0) << line;
  }
  const std::string long_list = "include = " + std::string(3000, 'a');
  EXPECT_EQ(set_selection_lines(long_list.c_str(), &selection, &error), DH_ERR_LIMIT);
  const std::string long_glob = "include = ok, " + std::string(600, 'a');
  EXPECT_EQ(set_selection_lines(long_glob.c_str(), &selection, &error), DH_ERR_LIMIT)
      << "it would be cut, and match others";
}

TEST(SelectionLines, LevelsHashAndStatsAreRefused_ButNotNamesThatLookLikeThem) {
  Selection selection;
  ErrorText error;
  EXPECT_EQ(set_selection_lines("levels = key=hashed=off", &selection, &error), DH_OK) << error.text;
}

}  // namespace
}  // namespace dumphook
