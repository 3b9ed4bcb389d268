// SPDX-License-Identifier: Apache-2.0
// dumphook export CAPTURE --to FOLDER: tensors as files. Names are those of decode/stem.h: equal tensor names, equal
// files.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>

#include "cli/choose.h"
#include "cli/json.h"
#include "cli/new_file.h"
#include "cli/value_text.h"
#include "cli/verbs.h"
#include "decode/npy.h"
#include "decode/npz.h"
#include "decode/real_values.h"
#include "decode/stem.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string path, folder, glob, frames, format = "npy";
  bool real = false, stored = false, one_per_row = false, force = false, deflate = false;
};

struct Item {
  size_t tensor;
  std::string stem;
};

// One frame and where it goes.
struct Batch {
  FrameKey frame;
  fs::path folder;  // of npz: of the file
  std::vector<Item> items;
};

std::string frame_text(uint64_t frame) { return fmt::format("frame_{:06}", frame); }

class Exporter {
 public:
  Exporter(Context& context, const ExportOptions& options, const Capture& capture)
      : context_(context), options_(options), capture_(capture) {}

  void run() {
    if (!plan()) return;
    if (!check_room()) return;
    InterruptGuard guard;
    for (const Batch& batch : batches_) {
      std::error_code error;
      const fs::path folder = options_.format == "npz" ? batch.folder.parent_path() : batch.folder;
      fs::create_directories(folder, error);
      if (error)
        return context_.fail({fmt::format("cannot make the folder {}: {}", folder.string(), error.message()), ""});
      const bool done = options_.format == "npz" ? write_archive(batch) : write_files(batch);
      if (!done) return tidy_end();
    }
    finish();
  }

 private:
  bool plan() {
    const auto frames = choose_frames(capture_, options_.frames);
    if (!frames) {
      context_.fail(frames.error());
      return false;
    }
    std::set<uint32_t> sessions;
    note_lacks(*frames);
    for (const FrameKey& frame : frames->frames) {
      sessions.insert(frame.session);
      Batch batch{frame, {}, {}};
      for (const size_t index : choose_tensors(capture_, frame, options_.glob)) batch.items.push_back({index, {}});
      if (!batch.items.empty()) batches_.push_back(std::move(batch));
    }
    if (batches_.empty()) {
      context_.fail(
          {options_.glob.empty() ? "there are no tensors in these frames" : "no tensor matches " + shown(options_.glob),
           "names are listed by dumphook ls"});
      return false;
    }
    // Of the whole capture: a GLOB changes no names.
    std::set<std::string> models;
    for (const CapturedTensor& tensor : capture_.tensors()) models.insert(tensor.model());
    for (Batch& batch : batches_) {
      fs::path folder = options_.folder;
      if (sessions.size() > 1) folder /= fmt::format("session_{}", batch.frame.session);
      const bool own_folder = batches_.size() > 1 || options_.format == "npz";
      batch.folder = own_folder ? folder / frame_text(batch.frame.frame) : folder;
      if (options_.format == "npz") batch.folder += ".npz";
      for (Item& item : batch.items) {
        const CapturedTensor& tensor = capture_.tensors()[item.tensor];
        if (models.size() > 1) item.stem = stem_of_name(tensor.model()) + "!";
        item.stem += stem_of(tensor.name(), tensor.occurrence, tensor.instance);
      }
    }
    return true;
  }

  // What was asked for and is not in the capture.
  void note_lacks(const ChosenFrames& chosen) {
    absent_ = chosen.absent;
    if (!absent_.empty()) lacks_.push_back(absent_text(absent_));
    for (const FrameKey& key : chosen.frames) {
      const CapturedFrame* frame = find_frame(capture_, key);
      if (frame == nullptr) continue;
      frames_.push_back({{"session", capture_.sessions()[key.session].uuid},
                         {"frame", key.frame},
                         {"state", frame->state_name()},
                         {"lost", json_losses(frame->lost)}});
      if (const std::string lack = lack_text(*frame); !lack.empty())
        lacks_.push_back(fmt::format("frame {} is {}", key.frame, lack));
    }
  }

  fs::path file_of(const Batch& batch, const Item& item) const {
    return batch.folder / (item.stem + "." + options_.format);
  }

  // Two tensors of one name, and files that are there, are found before anything is written.
  bool check_room() {
    for (const Batch& batch : batches_) {
      std::set<std::string> stems;
      for (const Item& item : batch.items) {
        if (!stems.insert(item.stem).second) {
          context_.fail(
              {fmt::format("frame {} holds {} twice", batch.frame.frame, shown(capture_.tensors()[item.tensor].name())),
               "export one of them with a GLOB"});
          return false;
        }
        if (options_.format != "npz" && !may_write(file_of(batch, item))) return false;
      }
      if (options_.format == "npz" && !may_write(batch.folder)) return false;
    }
    return true;
  }

  bool may_write(const fs::path& path) {
    std::error_code ignored;
    if (options_.force || !fs::exists(fs::symlink_status(path, ignored))) return true;
    context_.fail({path.string() + " exists", "--force replaces it"});
    return false;
  }

  // Nothing when the tensor is not whole: that is told, and the rest goes on.
  std::optional<Tensor> load(const CapturedTensor& entry) {
    const bool described = entry.described || options_.stored || entry.state != TensorState::whole;
    Expected<Tensor> tensor = described ? capture_.load(entry) : no_descriptor(entry);
    if (tensor) return std::move(*tensor);
    context_.say(tensor.error().what);
    skipped_.push_back({{"name", entry.label()}, {"frame", entry.frame}, {"why", tensor.error().what}});
    return std::nullopt;
  }

  void note(const CapturedTensor& entry, const fs::path& path, const std::string& member, const std::string& remark) {
    Json file{{"path", path.string()}};
    if (!member.empty()) file["member"] = member;
    file.update({{"name", entry.name()},
                 {"model", entry.model()},
                 {"instance", entry.instance},
                 {"occurrence", entry.occurrence},
                 {"frame", entry.frame},
                 {"dtype", dtype_name(entry.dtype)},
                 {"shape", entry.shape},
                 {"note", remark}});
    files_.push_back(std::move(file));
    ++written_;
    if (!remark.empty() && told_.insert(remark).second) context_.say(shown(entry.name()) + ": " + remark);
    progress();
  }

  void progress() {
    if (isatty(STDERR_FILENO) != 1 || written_ % 16 != 0) return;
    std::fprintf(stderr, "\r%zu tensors", written_);
    if (std::fflush(stderr) == 0) progress_shown_ = true;
  }

  NpyFile npy_of(const Tensor& tensor) const { return options_.stored ? npy_of_stored(tensor) : npy_of_real(tensor); }

  bool write_files(const Batch& batch) {
    for (const Item& item : batch.items) {
      if (InterruptGuard::asked()) return false;
      const CapturedTensor& entry = capture_.tensors()[item.tensor];
      const std::optional<Tensor> tensor = load(entry);
      if (!tensor) continue;
      const fs::path path = file_of(batch, item);
      Expected<NewFile> file = NewFile::create(path.string());
      if (!file) return failed(file.error());
      std::string remark;
      const Expected<bool> written = write_values(*file, *tensor, &remark);
      if (!written) return failed(written.error());
      if (InterruptGuard::asked()) return false;
      const Expected<bool> kept = file->commit(options_.force);
      if (!kept) return failed(kept.error());
      note(entry, path, "", remark);
    }
    return true;
  }

  Expected<bool> write_values(NewFile& file, const Tensor& tensor, std::string* remark) {
    const ConstBytes raw(reinterpret_cast<const uint8_t*>(tensor.bytes.data()), tensor.bytes.size());
    if (options_.format == "npy") {
      const NpyFile npy = npy_of(tensor);
      *remark = npy.note;
      const auto header =
          file.write(ConstBytes(reinterpret_cast<const uint8_t*>(npy.header.data()), npy.header.size()));
      return header ? file.write(npy_data(npy, tensor)) : header;
    }
    const bool real = !options_.stored && is_quantized(tensor.descriptor);
    if (options_.format == "bin") {
      if (!real) return file.write(raw);
      const std::vector<float> values = real_values_f32(tensor);
      *remark = std::string(dtype_name(tensor.descriptor.dtype)) + " as real values, float32";
      return file.write(ConstBytes(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)));
    }
    if (tensor.descriptor.layout == Layout::text) return file.write(raw);
    ValueText text(tensor, real ? Values::real : Values::stored, options_.one_per_row);
    for (uint64_t i = 0, count = text.count(); i < count; ++i) {
      text.add(i);
      if (i + 1 == count) text.finish();
      if (text.size() < 65536 && i + 1 < count) continue;
      const std::string piece = text.take();
      if (const auto written = file.write(ConstBytes(reinterpret_cast<const uint8_t*>(piece.data()), piece.size()));
          !written) {
        return written;
      }
    }
    return true;
  }

  bool write_archive(const Batch& batch) {
    Expected<NewFile> file = NewFile::create(batch.folder.string());
    if (!file) return failed(file.error());
    NpzWriter archive(file->stream(), options_.deflate);
    for (const Item& item : batch.items) {
      if (InterruptGuard::asked()) return false;
      const CapturedTensor& entry = capture_.tensors()[item.tensor];
      const std::optional<Tensor> tensor = load(entry);
      if (!tensor) continue;
      const NpyFile npy = npy_of(*tensor);
      const Expected<bool> added =
          archive.add(item.stem, ConstBytes(reinterpret_cast<const uint8_t*>(npy.header.data()), npy.header.size()),
                      npy_data(npy, *tensor));
      if (!added) return failed(added.error());
      note(entry, batch.folder, item.stem, npy.note);
    }
    if (const auto closed = archive.close(); !closed) return failed(closed.error());
    const Expected<bool> kept = file->commit(options_.force);
    return kept ? true : failed(kept.error());
  }

  bool failed(const Error& error) {
    context_.fail(error);
    return false;
  }

  // Files that are finished stay; the one that was being written is gone.
  void tidy_end() {
    if (progress_shown_) std::fputc('\n', stderr);
    if (!InterruptGuard::asked()) return;
    context_.say(fmt::format("interrupted; {} files are whole", files_.size()));
    context_.exit_code = kExitError;
    interrupted_ = true;
  }

  void finish() {
    if (progress_shown_) std::fputc('\n', stderr);
    constexpr size_t kMostLines = 10;
    for (size_t i = 0; i < lacks_.size() && i < kMostLines; ++i) context_.say(lacks_[i]);
    if (lacks_.size() > kMostLines) context_.say(fmt::format("... and {} more", lacks_.size() - kMostLines));
    if (!skipped_.empty() || !lacks_.empty()) context_.exit_code = kExitDataMissing;
    if (context_.json) {
      print_json(context_.out, {{"format", 1},
                                {"files", files_},
                                {"skipped", skipped_},
                                {"frames", frames_},
                                {"absent_frames", json_ranges(absent_)}});
    } else {
      context_.out.line(fmt::format("{} tensors of {} frames in {}{}", written_, batches_.size(), options_.folder,
                                    skipped_.empty() ? "" : fmt::format(", {} skipped", skipped_.size())));
    }
  }

 public:
  bool interrupted() const { return interrupted_; }

 private:
  Context& context_;
  const ExportOptions& options_;
  const Capture& capture_;
  std::vector<Batch> batches_;
  Json files_ = Json::array(), skipped_ = Json::array(), frames_ = Json::array();
  std::vector<SeqRange> absent_;
  std::vector<std::string> lacks_;
  std::set<std::string> told_;
  size_t written_ = 0;
  bool progress_shown_ = false, interrupted_ = false;
};

void run(Context& context, const ExportOptions& options) {
  const Expected<Capture> capture = Capture::open(options.path);
  if (!capture) return context.fail(capture.error());
  Exporter exporter(context, options, *capture);
  exporter.run();
  if (exporter.interrupted()) InterruptGuard::end_as_asked();
}

}  // namespace

void add_export(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("export", "tensors as files: npy, npz, txt, bin");
  auto options = std::make_shared<ExportOptions>();
  verb->add_option("CAPTURE", options->path, "file, folder, or - for standard input")->required();
  verb->add_option("GLOB", options->glob, "only tensors whose name, or model/name, matches");
  verb->add_option("--to", options->folder, "folder, made where it is missing")->required();
  verb->add_option("--format", options->format, "npy, npz, txt or bin")
      ->check(CLI::IsMember({"npy", "npz", "txt", "bin"}))
      ->capture_default_str();
  verb->add_option("--frame", options->frames,
                   "3, 7-9, 3,7-9 or all; default: the first complete frame. Several: a folder each");
  CLI::Option* real = verb->add_flag("--real", options->real, "quantized tensors as real values, float32 (default)");
  verb->add_flag("--stored,--raw", options->stored, "the stored numbers")->excludes(real);
  verb->add_flag("--one-per-row", options->one_per_row, "txt: one value a row instead of 16");
  verb->add_flag("--deflate", options->deflate, "npz: compress");
  verb->add_flag("--force", options->force, "replace files that are there");
  add_json_option(*verb, context);
  verb->callback([&context, options] {
    if (options->one_per_row && options->format != "txt")
      throw CLI::ValidationError("--one-per-row", "needs --format txt");
    if (options->deflate && options->format != "npz") throw CLI::ValidationError("--deflate", "needs --format npz");
    run(context, *options);
  });
}

}  // namespace dumphook
