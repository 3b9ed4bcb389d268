// SPDX-License-Identifier: Apache-2.0
#include "align/open_side.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "align/npy_folder.h"
#include "align/pairs.h"
#include "decode/npy.h"
#include "decode/stem.h"
#include "make_side.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;

class Folders : public ::testing::Test {
 protected:
  Folders() : root_(fs::temp_directory_path() / ("align_" + std::to_string(::getpid()) + "_" + std::to_string(next_++))) {
    for (const char* side : {"t", "g"}) fs::create_directories(root_ / side);
  }
  ~Folders() override { fs::remove_all(root_); }

  std::string path(const std::string& side) const { return (root_ / side).string(); }

  void save(const std::string& side, const std::string& stem, const std::vector<float>& values) {
    const Tensor tensor = make_tensor(stem, values);
    const NpyFile npy = npy_of_stored(tensor);
    const ConstBytes data = npy_data(npy, tensor);
    std::ofstream file(root_ / side / (stem + ".npy"), std::ios::binary);
    file << npy.header;
    file.write(reinterpret_cast<const char*>(data.data), static_cast<std::streamsize>(data.size));
  }

  Sides open(const FrameChoice& choice = {}) const { return open_sides(path("t"), path("g"), choice); }

  std::string error_of(const FrameChoice& choice = {}) const {
    try {
      open(choice);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }

 private:
  static inline int next_ = 0;
  const fs::path root_;
};

TEST(NaturalOrder, NumbersCountAsNumbers) {
  EXPECT_TRUE(natural_less("layer2", "layer10"));
  EXPECT_FALSE(natural_less("layer10", "layer2"));
  EXPECT_TRUE(natural_less("2_a", "10_a"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("a01", "a1") != natural_less("a1", "a01"));
  EXPECT_FALSE(natural_less("a0", "a0"));
}

TEST_F(Folders, NpyFolder_GivesItsFilesInNaturalOrder) {
  save("t", "layer10", {1});
  save("t", "layer2", {2});
  save("g", "layer2", {2});
  const Sides sides = open();
  ASSERT_EQ(sides.target.tensors.size(), 2u);
  EXPECT_EQ(sides.target.tensors[0].descriptor.name, "layer2");
  EXPECT_EQ(sides.target.tensors[0].load().bytes.size(), 4u);
  EXPECT_FALSE(sides.target.order_known);
  EXPECT_TRUE(sides.target.coverage.complete());
  EXPECT_FALSE(sides.target.coverage.frame);
}

TEST_F(Folders, EscapedStems_GiveTheTensorsName) {
  const std::string name = "net/conv:0";
  save("t", stem_of_name(name), {1});
  save("g", "x", {1});
  EXPECT_EQ(open().target.tensors[0].descriptor.name, name);
}

TEST_F(Folders, NameTooLongForAFile_StillMatchesTheFile) {
  const std::string name(400, 'n');
  save("g", stem_of_name(name), {1});
  save("t", "x", {1});
  const Alignment a = align(make_side({make_tensor(name)}), open().golden, {});
  ASSERT_EQ(a.layers.size(), 1u);
  EXPECT_TRUE(a.layers[0].target && a.layers[0].golden);
}

TEST_F(Folders, FrameOfAFolder_IsRefused) {
  save("t", "a", {1});
  save("g", "a", {1});
  EXPECT_NE(error_of({3, {}}).find("has no frames"), std::string::npos);
}

TEST_F(Folders, EmptyFolder_IsNamed) {
  save("t", "a", {1});
  EXPECT_NE(error_of().find(path("g")), std::string::npos);
}

TEST_F(Folders, MissingPath_IsNamed) {
  try {
    open_sides("/nonexistent/run.mcap", path("g"), {});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/run.mcap"), std::string::npos);
  }
}

}  // namespace
}  // namespace dumphook
