// SPDX-License-Identifier: Apache-2.0
#include "cli/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/file_examination.h"
#include "decode/capture.h"

namespace dumphook {
namespace {

constexpr Severity severity_of(Harm harm) {
  return harm == Harm::damaged ? Severity::error : harm == Harm::missing ? Severity::warning : Severity::note;
}

std::string range_text(uint64_t first, uint64_t last) {
  return first == last ? fmt::format("message {} is", first) : fmt::format("messages {} to {} are", first, last);
}

void examine_session(const Capture& capture, uint32_t index, const std::vector<SeqJump>& jumps, Examination& result) {
  const CaptureSession& session = capture.sessions()[index];
  const auto stream = std::find_if(capture.streams().begin(), capture.streams().end(),
                                   [index](const CaptureStream& one) { return one.session == index; });
  const uint32_t file = stream == capture.streams().end() ? 0 : stream->file;
  for (const SeqRange& gap : session.gaps) {
    const auto jump = std::find_if(jumps.begin(), jumps.end(), [&](const SeqJump& one) {
      return one.session == session.uuid && one.first <= gap.first && gap.last <= one.last;
    });
    result.add(Harm::missing, jump == jumps.end() ? file : jump->file, jump == jumps.end() ? 0 : jump->offset,
               range_text(gap.first, gap.last) + " not here", "are all segments of the session given?");
  }
  if (!session.confirmed()) {
    result.add(Harm::missing, file, stream == capture.streams().end() ? 0 : stream->file_offset,
               session.begins || session.first_seq == 1 || !session.counters || !session.counters->closing
                   ? "the session's closing message is not here: more may be missing"
                   : "what the session said before its first message here is missing",
               "are all segments of the session given? Was a quota in force?");
  }
  for (const auto& [reason, count] : session.lost()) {
    if (count != 0)
      result.add(Harm::none, file, 0,
                 fmt::format("{} captures were lost on the board: {}", count, loss_reason_name(reason)));
  }
}

// What the messages say of each other: tensors, frames, sessions.
void examine_content(const Capture& capture, const std::vector<SeqJump>& jumps, Examination& result) {
  result.tensors = capture.tensors().size();
  for (const CapturedTensor& tensor : capture.tensors()) {
    if (tensor.state != TensorState::truncated && tensor.state != TensorState::damaged) continue;
    const bool truncated = tensor.state == TensorState::truncated;
    result.add(truncated ? Harm::missing : Harm::damaged, tensor.file, tensor.file_offset,
               fmt::format("tensor {} of frame {} is {}: {}", tensor.label(), tensor.frame,
                           tensor_state_name(tensor.state), tensor.why));
  }
  for (const CapturedFrame& frame : capture.frames()) {
    if (!frame.ended || frame.whole >= frame.accepted) continue;
    const auto tensor = std::find_if(
        capture.tensors().begin(), capture.tensors().end(),
        [&](const CapturedTensor& one) { return one.session == frame.session && one.frame == frame.number; });
    const bool any = tensor != capture.tensors().end();
    result.add(
        Harm::missing, any ? tensor->file : 0, any ? tensor->file_offset : 0,
        fmt::format("frame {}: {} of its {} tensors are here and whole", frame.number, frame.whole, frame.accepted));
  }
  for (uint32_t i = 0; i < capture.sessions().size(); ++i) examine_session(capture, i, jumps, result);
}

}  // namespace

void Examination::add(Harm harm, uint32_t file, uint64_t offset, std::string what, std::string todo) {
  worst = std::max(worst, harm);
  if (findings.size() >= kMaxKept) {
    ++not_kept;
    return;
  }
  Finding finding;
  finding.harm = harm;
  finding.problem.severity = severity_of(harm);
  finding.problem.file = file;
  finding.problem.offset = offset;
  finding.problem.what = std::move(what);
  finding.problem.todo = std::move(todo);
  findings.push_back(std::move(finding));
}

Expected<Examination> examine(const std::vector<std::string>& paths) {
  Examination result;
  std::vector<SeqJump> jumps;
  for (const std::string& path : paths) {
    Expected<std::shared_ptr<FileSource>> source = FileSource::open(path);
    if (!source.ok()) return source.error();
    if (const Expected<bool> read = (*source)->drain(); !read.ok()) return read.error();
    const auto number = static_cast<uint32_t>(result.files.size());
    result.files.push_back(path);
    result.bytes += (*source)->size();
    FileExamination(*source, number, result).run(jumps);
  }
  const Expected<Capture> capture = Capture::open(paths);
  if (capture.ok()) {
    examine_content(*capture, jumps, result);
  } else {
    result.add(Harm::damaged, 0, 0, capture.error().what, capture.error().todo);
  }
  std::stable_sort(result.findings.begin(), result.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.problem.file, a.problem.offset) < std::tie(b.problem.file, b.problem.offset);
  });
  return result;
}

}  // namespace dumphook
