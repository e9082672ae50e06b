// SPDX-License-Identifier: BSD-3-Clause
// Timelines as bytes and as Chrome traces.
#include "products/timeline.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/error.hpp"
#include "base/json.hpp"

namespace pillion::products {

namespace {

int number_of(const std::string& process) { return process == "simulation" ? 1 : 2; }

/// An event in Chrome's trace format, with times in microseconds since `origin`.
template <class Out>
void put_event(Out to, const Event& event, int pid, int64_t rank, double origin) {
  fmt::format_to(to,
                 "{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
                 "\"dur\":{:.3f},\"args\":{{\"step\":{}}}}}",
                 base::json_text(event.name), base::json_text(event.category), pid, rank,
                 (event.begin - origin) * 1e6, (event.end - event.begin) * 1e6, event.step);
}

}  // namespace

void Timeline::add(Event event) { keep(std::move(event), capacity_); }

void Timeline::add_detail(Event event) { keep(std::move(event), capacity_ / 2); }

void Timeline::keep(Event event, size_t capacity) {
  if (followed_) tell(event);
  if (events_.size() < capacity) events_.push_back(std::move(event));
  else ++dropped_;
}

void Timeline::follow(const std::filesystem::path& folder, const std::string& process,
                      int64_t rank) {
  const auto path = folder / fmt::format("{}-{}.jsonl", process, rank);
  followed_.reset(std::fopen(path.c_str(), "w"));
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

base::Bytes Timeline::serialise() const {
  base::ByteWriter out;
  out.put(dropped_);
  out.put(events_);
  return out.take();
}

namespace {

void put_rank(fmt::memory_buffer& out, const RankTrace& trace, double origin) {
  auto to = std::back_inserter(out);
  const int pid = number_of(trace.process);
  fmt::format_to(
      to,
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":{1},\"args\":{{"
      "\"name\":{2}}}}},\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},"
      "\"args\":{{\"name\":\"{3} rank {1}\"}}}}",
      pid, trace.rank, base::json_text(trace.process), trace.process);
  base::ByteReader in(trace.events);
  const auto dropped = in.get<int64_t>();
  for (const auto& event : in.get_vector<Event>()) {
    fmt::format_to(to, ",\n");
    put_event(to, event, pid, trace.rank, origin);
  }
  if (dropped > 0)
    fmt::format_to(
        to,
        ",\n{{\"ph\":\"i\",\"s\":\"t\",\"name\":\"{} later events were not kept\",\"pid\":"
        "{},\"tid\":{},\"ts\":0}}",
        dropped, pid, trace.rank);
}

}  // namespace

std::string format_trace(const std::vector<RankTrace>& ranks, double origin,
                         const std::string& run) {
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out),
                 "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"run\":{}}},\"traceEvents\":[\n",
                 base::json_text(run));
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (r != 0) fmt::format_to(std::back_inserter(out), ",\n");
    put_rank(out, ranks[r], origin);
  }
  fmt::format_to(std::back_inserter(out), "\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace pillion::products
