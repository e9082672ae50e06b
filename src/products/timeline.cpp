// SPDX-License-Identifier: BSD-3-Clause
// Timelines as bytes and as Chrome traces.
#include "products/timeline.hpp"

#include <iterator>

#include "base/json.hpp"

namespace pillion::products {

void Timeline::add(Event event) {
  if (events_.size() >= capacity_) {
    ++dropped_;
    return;
  }
  events_.push_back(std::move(event));
}

base::Bytes Timeline::serialise() const {
  base::ByteWriter out;
  out.put(dropped_);
  out.put(static_cast<int64_t>(events_.size()));
  for (const auto& event : events_) {
    out.put(event.name);
    out.put(event.category);
    out.put(event.begin);
    out.put(event.end);
    out.put(event.step);
  }
  return out.take();
}

namespace {

void put_rank(fmt::memory_buffer& out, const RankTrace& trace, double origin) {
  auto to = std::back_inserter(out);
  const int pid = trace.process == "simulation" ? 1 : 2;
  fmt::format_to(
      to,
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":{1},\"args\":{{"
      "\"name\":{2}}}}},\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},"
      "\"args\":{{\"name\":\"{3} rank {1}\"}}}}",
      pid, trace.rank, base::json_text(trace.process), trace.process);
  base::ByteReader in(trace.events);
  const auto dropped = in.get<int64_t>();
  const auto count = in.get<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const auto name = in.get<std::string>();
    const auto category = in.get<std::string>();
    const auto begin = in.get<double>();
    const auto end = in.get<double>();
    const auto step = in.get<int64_t>();
    fmt::format_to(to,
                   ",\n{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
                   "\"dur\":{:.3f},\"args\":{{\"step\":{}}}}}",
                   base::json_text(name), base::json_text(category), pid, trace.rank,
                   (begin - origin) * 1e6, (end - begin) * 1e6, step);
  }
  if (dropped > 0)
    fmt::format_to(
        to,
        ",\n{{\"ph\":\"i\",\"s\":\"t\",\"name\":\"{} later events were not kept\",\"pid\":"
        "{},\"tid\":{},\"ts\":0}}",
        dropped, pid, trace.rank);
}

}  // namespace

std::string format_trace(const std::vector<RankTrace>& ranks, double origin) {
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (r != 0) fmt::format_to(std::back_inserter(out), ",\n");
    put_rank(out, ranks[r], origin);
  }
  fmt::format_to(std::back_inserter(out), "\n]}}\n");
  return fmt::to_string(out);
}

}  // namespace pillion::products
