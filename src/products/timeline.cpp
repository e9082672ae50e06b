// SPDX-License-Identifier: BSD-3-Clause
// Sums of events, and timelines as Chrome traces.
#include "products/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "products/whole_file.hpp"

namespace pillion::products {

namespace {

int number_of(const std::string& process) { return process == "simulation" ? 1 : 2; }

/// An event in Chrome's trace format, with times in microseconds since `origin`.
template <class Out>
void put_event(Out to, const Event& event, int pid, int64_t rank, double origin) {
  fmt::format_to(to,
                 "{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
                 "\"dur\":{:.3f},\"args\":{{\"step\":{}",
                 base::json_text(event.name), base::json_text(event.category), pid, rank,
                 (event.begin - origin) * 1e6, (event.end - event.begin) * 1e6, event.step);
  if (event.waited > 0) fmt::format_to(to, ",\"waited\":{:.3f}", event.waited * 1e6);
  fmt::format_to(to, "}}}}");
}

}  // namespace

// The program continues without an event for which there is no memory.
void Timeline::add(Event event) {
  try {
    if (followed_) tell(event);
    if (events_.size() < capacity_) events_.push_back(std::move(event));
    else sum_up(event);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

void Timeline::sum_up(const Event& event) {
  if (sums_.empty()) windows_from_ = event.begin;
  last_end_ = std::max(last_end_, event.end);
  // An event that spans windows counts in each, so that no window is more than full.
  const auto first = static_cast<int64_t>(std::floor((event.begin - windows_from_) / window_));
  const auto last = static_cast<int64_t>(std::floor((event.end - windows_from_) / window_));
  constexpr int64_t most_windows = 64;
  if (last - first >= most_windows) {
    window_ *= 2;
    widen();
    return sum_up(event);
  }
  for (int64_t w = first; w <= last; ++w) {
    const double from = windows_from_ + static_cast<double>(w) * window_;
    const double seconds = std::min(event.end, from + window_) - std::max(event.begin, from);
    if (w != first && seconds <= 0) continue;
    auto& sum =
        sums_.try_emplace({w, event.category, event.name}, Sum{0, 0, event.step}).first->second;
    sum.seconds += std::max(seconds, 0.0);
    sum.events += w == first ? 1 : 0;
  }
  while (sums_.size() > capacity_ && window_ < 1e9) {
    window_ *= 2;
    widen();
  }
}

/// Puts the sums into windows of twice the width.
void Timeline::widen() {
  std::map<Key, Sum> wider;
  for (const auto& [key, sum] : sums_) {
    const auto& [window, category, name] = key;
    const int64_t half = window >= 0 ? window / 2 : (window - 1) / 2;
    auto& wide = wider.try_emplace({half, category, name}, Sum{0, 0, sum.step}).first->second;
    wide.seconds += sum.seconds;
    wide.events += sum.events;
  }
  sums_ = std::move(wider);
}

void Timeline::follow(const std::filesystem::path& folder, const std::string& process,
                      int64_t rank) {
  const auto path = folder / fmt::format("{}-{}.jsonl", process, rank);
  followed_.reset(::fdopen(open_new(path), "w"));
  if (!followed_)
    base::fail(ErrorCode::File, "cannot write the timeline to '{}': {}", path.string(),
               std::strerror(errno));
  std::setvbuf(followed_.get(), nullptr, _IOLBF, BUFSIZ);
  process_ = process;
  rank_ = rank;
}

void Timeline::tell(const Event& event) {
  fmt::memory_buffer line;
  put_event(std::back_inserter(line), event, number_of(process_), rank_, 0);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), followed_.get());
}

std::string Timeline::format(const std::string& process, int64_t rank, double origin) const {
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  const int pid = number_of(process);
  fmt::format_to(
      to,
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":{1},\"args\":{{"
      "\"name\":{2}}}}},\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},"
      "\"args\":{{\"name\":\"{3} rank {1}\"}}}}",
      pid, rank, base::json_text(process), process);
  for (const auto& event : events_) {
    fmt::format_to(to, ",\n");
    put_event(to, event, pid, rank, origin);
  }
  // Sums of one window have the same times, so that viewers show them as a stack.
  for (const auto& [key, sum] : sums_) {
    const auto& [window, category, name] = key;
    const double begin = windows_from_ + static_cast<double>(window) * window_;
    const double end = std::min(begin + window_, std::max(last_end_, begin));
    fmt::format_to(to,
                   ",\n{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
                   "\"dur\":{:.3f},\"args\":{{\"step\":{},\"events\":{},\"seconds\":{:.9f}}}}}",
                   base::json_text(name), base::json_text(category), pid, rank,
                   (begin - origin) * 1e6, (end - begin) * 1e6, sum.step, sum.events, sum.seconds);
  }
  return fmt::to_string(out);
}

TraceFile::TraceFile(const std::filesystem::path& path, const std::string& run) : file_(path) {
  file_.write(
      fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"run\":{}}},\"traceEvents\":[\n",
                  base::json_text(run)));
}

void TraceFile::add(std::string_view part) {
  if (!std::exchange(is_empty_, false)) file_.write(",\n");
  file_.write(part);
}

void TraceFile::finish() {
  file_.write("\n]}\n");
  file_.finish(false);
}

}  // namespace pillion::products
