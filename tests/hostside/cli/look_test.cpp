// SPDX-License-Identifier: Apache-2.0
// The tool as a user runs it: info, ls, show, export.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "decode/npy.h"
#include "decode/npz.h"
#include "decode/real_values.h"
#include "tool.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST(Info, FineCapture_ExitsWithZero) {
  const Ran run = tool("info " + fine_capture());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_EQ(run.err, "");
  for (const char* word : {"test board", "3 complete", "2 of 2 declared layers captured", "1 sealed", "no gaps"}) {
    EXPECT_NE(run.out.find(word), std::string::npos) << word << " in\n" << run.out;
  }
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
}

TEST(Info, HoledCapture_ExitsWithThree) {
  const Ran run = tool("info " + holed_capture());
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.out.find("1 truncated"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("cut off"), std::string::npos);
}

TEST(Info, Json_HasTheSame) {
  const Json object = Json::parse(tool("info --json " + fine_capture()).out);
  EXPECT_EQ(object["format"], 1);
  EXPECT_EQ(object["sessions"][0]["board"], "test board");
  EXPECT_EQ(object["frames"]["complete"], 3);
  EXPECT_EQ(object["coverage"]["complete"], true);
  EXPECT_EQ(object["coverage"]["layers"].size(), 2u);
  EXPECT_TRUE(object["problems"].empty());
}

TEST(Info, StandardInputAndPipes_Work) {
  EXPECT_EQ(tool("info -", "cat " + fine_capture() + " |").exit_code, 0);
  EXPECT_EQ(tool("info /dev/stdin", "cat " + fine_capture() + " |").exit_code, 0);
}

TEST(Info, NoCapture_IsAnErrorOnStandardError) {
  const std::string path = scratch_folder() + "/junk";
  write_file(path, std::string(1000, 'j'));
  for (const std::string& name : {path, scratch_folder() + "/missing"}) {
    const Ran run = tool("info " + name);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(name), std::string::npos);
  }
}

TEST(Ls, RowsInExecutionOrder) {
  const Ran run = tool("ls " + fine_capture());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_LT(run.out.find("conv/1"), run.out.find("out "));
  EXPECT_EQ(run.out.substr(0, 8), "frame 0\n");
}

TEST(Ls, GlobFrameAndQuantization) {
  EXPECT_EQ(tool("ls " + fine_capture() + " 'net/o*'").out.find("conv/1"), std::string::npos);
  EXPECT_NE(tool("ls --quant " + fine_capture()).out.find("0.5"), std::string::npos);
  const Json object = Json::parse(tool("ls --json --frame all " + fine_capture() + " 'conv*'").out);
  ASSERT_EQ(object["frames"].size(), 3u);
  EXPECT_EQ(object["frames"][2]["tensors"][0]["quantization"]["zero_point"][0], 1);
  EXPECT_EQ(tool("ls --frame 9 " + fine_capture()).exit_code, 1);
  EXPECT_EQ(tool("ls --frame x " + fine_capture()).exit_code, 1);
  EXPECT_EQ(tool("ls " + fine_capture() + " nothing").exit_code, 1);
}

TEST(Ls, ReaderThatGoesAway_IsNoError) {
  EXPECT_EQ(tool("ls --frame all " + fine_capture(), "{ ", "; echo $? >&2; } 2>/dev/null | true").exit_code, 0);
  const Ran run = tool("show " + fine_capture() + " out", "bash -c \"trap '' PIPE; (",
                       "; echo code $? >" + scratch_folder() + "/code) | true\"");
  EXPECT_EQ(content_of(scratch_folder() + "/code").substr(0, 6), "code 0") << run.err;
}

TEST(Show, RealAndStoredValues) {
  const Ran real = tool("show " + fine_capture() + " conv/1");
  EXPECT_NE(real.out.find("-0.500000, 0.000000, 0.500000, 1.000000, 1.500000, -1.000000, "), std::string::npos)
      << real.out;
  const Ran stored = tool("show --raw " + fine_capture() + " conv/1");
  EXPECT_NE(stored.out.find("\n0, 1, 2, 3, 4, -1, \n"), std::string::npos) << stored.out;
}

TEST(Show, NodeOutputSliceAndRows) {
  const Ran run = tool("show " + fine_capture() + " node1:0 --slice 1,: --one-per-row");
  EXPECT_NE(run.out.find("\n1.500000\n2.000000\n2.500000\n"), std::string::npos) << run.out << run.err;
  const Json object = Json::parse(tool("show --json " + fine_capture() + " out --slice=0,-1").out);
  EXPECT_EQ(object["tensors"][0]["values"], Json::array({1.0}));
  EXPECT_EQ(tool("show " + fine_capture() + " out --slice 9").exit_code, 1);
}

TEST(Show, UnknownName_SuggestsOthers) {
  const Ran run = tool("show " + fine_capture() + " conv");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("conv/1"), std::string::npos);
}

TEST(Show, TruncatedTensor_ExitsWithThree) {
  const Ran run = tool("show " + holed_capture() + " big");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("3 of 4 parts"), std::string::npos) << run.err;
}

TEST(Export, Npy_RealByDefault_StoredOnRequest) {
  const std::string folder = scratch_folder() + "/npy";
  EXPECT_EQ(tool("export " + fine_capture() + " --to " + folder).exit_code, 0);
  const auto real = read_npy(folder + "/conv%2F1.npy");
  ASSERT_TRUE(real.ok()) << real.error().what;
  EXPECT_EQ(real->descriptor.name, "conv/1");
  EXPECT_EQ(real->descriptor.dtype, DType::f32);
  EXPECT_EQ(stored_values(*real), (std::vector<double>{-0.5, 0, 0.5, 1, 1.5, -1}));
  const Ran again = tool("export " + fine_capture() + " --to " + folder);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.err.find("--force"), std::string::npos);
  EXPECT_EQ(tool("export --force --stored " + fine_capture() + " --to " + folder).exit_code, 0);
  EXPECT_EQ(read_npy(folder + "/conv%2F1.npy")->descriptor.dtype, DType::i8);
  for (const auto& entry : fs::directory_iterator(folder)) EXPECT_EQ(entry.path().extension(), ".npy");
}

TEST(Export, SeveralFrames_AFolderEach) {
  const std::string folder = scratch_folder() + "/frames";
  EXPECT_EQ(tool("export " + fine_capture() + " out --frame all --format txt --to " + folder).exit_code, 0);
  EXPECT_EQ(content_of(folder + "/frame_000002/out.txt"),
            "0.000000, 0.500000, 1.000000, 1.500000, 2.000000, 2.500000, \n");
}

TEST(Export, NpzAndBin) {
  const std::string folder = scratch_folder() + "/npz";
  EXPECT_EQ(tool("export " + fine_capture() + " --frame 1 --format npz --deflate --to " + folder).exit_code, 0);
  const auto arrays = read_npz(folder + "/frame_000001.npz");
  ASSERT_TRUE(arrays.ok()) << arrays.error().what;
  EXPECT_EQ(arrays->size(), 2u);
  EXPECT_EQ(tool("export " + fine_capture() + " --stored --format bin --to " + folder + "/bin").exit_code, 0);
  EXPECT_EQ(content_of(folder + "/bin/conv%2F1.bin"), std::string("\0\1\2\3\4\xFF", 6));
}

TEST(Export, HoledCapture_ExportsTheRestAndExitsWithThree) {
  const std::string folder = scratch_folder() + "/rest";
  const Ran run = tool("export --json " + holed_capture() + " --to " + folder);
  EXPECT_EQ(run.exit_code, 3);
  const Json object = Json::parse(run.out);
  EXPECT_EQ(object["files"].size(), 1u);
  EXPECT_EQ(object["skipped"][0]["name"], "big");
  EXPECT_TRUE(fs::exists(folder + "/conv%2F1.npy"));
  EXPECT_FALSE(fs::exists(folder + "/big.npy"));
}

TEST(Export, NamesThatWantOut_StayInTheFolder) {
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.name = "../../escape";
  builder.tensor(tensor, 0);
  const std::string path = scratch_folder() + "/escape.mcap", folder = scratch_folder() + "/deep/er";
  write_file(path, builder.bytes());
  tool("export " + path + " --to " + folder);
  EXPECT_TRUE(fs::exists(folder + "/%2E.%2F..%2Fescape.npy"));
  EXPECT_FALSE(fs::exists(scratch_folder() + "/escape.npy"));
}

TEST(Export, Interrupted_LeavesWholeFilesOnly) {
  const std::string path = scratch_folder() + "/many.mcap", folder = scratch_folder() + "/many";
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.shape = {1000, 100};
  for (uint64_t frame = 0; frame < 200; ++frame) builder.tensor(tensor, frame);
  write_file(path, builder.bytes());
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    execl(DUMPHOOK_TOOL, "dumphook", "export", path.c_str(), "--to", folder.c_str(), "--frame", "all", "--format",
          "txt", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 1000 && !fs::exists(folder + "/frame_000001"); ++i) usleep(2000);
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) || WTERMSIG(status) == SIGINT);
  uintmax_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(entry.path().extension(), ".txt");
    if (size == 0) size = entry.file_size();
    EXPECT_EQ(entry.file_size(), size) << entry.path();
  }
}

}  // namespace
}  // namespace dumphook
