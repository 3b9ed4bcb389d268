// SPDX-License-Identifier: Apache-2.0
#include "source/file_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "capture_builder.h"

namespace dumphook {
namespace {

using dumphook_test::scratch_folder;
using dumphook_test::write_file;

std::string all_of(const FileSource& source) {
  std::string bytes(source.size(), '\0');
  EXPECT_EQ(source.read(0, bytes.data(), bytes.size()), 0);
  return bytes;
}

TEST(FileSource, MissingFile_IsAnErrorThatNamesIt) {
  const auto source = FileSource::open(scratch_folder() + "/none");
  ASSERT_FALSE(source.ok());
  EXPECT_NE(source.error().what.find("none"), std::string::npos);
}

TEST(FileSource, Folder_IsAnError) { EXPECT_FALSE(FileSource::open(scratch_folder()).ok()); }

TEST(FileSource, ReadsAnywhere_AndRefusesBeyondTheEnd) {
  const std::string path = scratch_folder() + "/reads";
  write_file(path, "0123456789");
  const auto source = FileSource::open(path);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->size(), 10u);
  char two[2];
  EXPECT_EQ((*source)->read(8, two, 2), 0);
  EXPECT_EQ(std::string(two, 2), "89");
  EXPECT_EQ((*source)->read(9, two, 2), ENODATA);
  EXPECT_EQ((*source)->read(~uint64_t{0}, two, 2), ENODATA);
}

TEST(FileSource, FileThatGrows_IsSeenByRefresh) {
  const std::string path = scratch_folder() + "/grows";
  write_file(path, "abc");
  const auto source = FileSource::open(path);
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE(*(*source)->refresh(0));
  std::ofstream(path, std::ios::app) << "def";
  EXPECT_TRUE(*(*source)->refresh(0));
  EXPECT_EQ(all_of(**source), "abcdef");
}

TEST(FileSource, FileThatWasCutShort_GivesAnErrorNotASignal) {
  const std::string path = scratch_folder() + "/shrinks";
  write_file(path, std::string(100000, 'x'));
  const auto source = FileSource::open(path);
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(truncate(path.c_str(), 10), 0);
  char byte;
  EXPECT_EQ((*source)->read(50000, &byte, 1), ENODATA);
}

TEST(FileSource, Pipe_IsReadToItsEnd_AndCanBeReadAnywhere) {
  const std::string path = scratch_folder() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string sent(1 << 20, 'p');
  std::thread writer([&] { write_file(path, sent + "end"); });
  const auto source = FileSource::open(path);
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE((*source)->is_open_pipe());
  EXPECT_TRUE(*(*source)->drain());
  writer.join();
  EXPECT_FALSE((*source)->is_open_pipe());
  EXPECT_EQ(all_of(**source), sent + "end");
}

}  // namespace
}  // namespace dumphook
