// SPDX-License-Identifier: BSD-3-Clause
// What one rank did when, in a bounded number of events, and all ranks' events as one Chrome trace
// that Perfetto opens. Who wants to know at once has every event written to a file as it happens.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"

namespace pillion::products {

struct Event {
  std::string name;
  std::string category;
  double begin = 0;  ///< calendar seconds
  double end = 0;
  int64_t step = 0;

  static constexpr auto members() {
    return std::tuple{&Event::name, &Event::category, &Event::begin, &Event::end, &Event::step};
  }
};

class Timeline {
 public:
  explicit Timeline(size_t capacity) : capacity_(capacity) {}

  /// Keeps the event, or only counts it once the timeline is full.
  void add(Event event);
  /// The same for what happens within another event; it leaves half of the room to those.
  void add_detail(Event event);
  /// From here on every event is also a line of a file, `FOLDER/PROCESS-RANK.jsonl`, as soon as it
  /// has happened: what a trace has of it, in microseconds since 1970. Throws if there can be none.
  void follow(const std::filesystem::path& folder, const std::string& process, int64_t rank);
  [[nodiscard]] base::Bytes serialise() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void keep(Event event, size_t capacity);
  void tell(const Event& event);

  size_t capacity_;
  int64_t dropped_ = 0;
  std::vector<Event> events_;
  std::string process_;
  int64_t rank_ = 0;
  std::unique_ptr<std::FILE, Close> followed_;
};

/// One rank's part of a trace.
struct RankTrace {
  std::string process;  ///< "simulation" or "sidecar"
  int64_t rank = 0;     ///< within the process
  base::Bytes events;   ///< of Timeline::serialise
};

/// Chrome trace format (JSON), times in microseconds since `origin` (calendar seconds). `run` is
/// the run's id.
std::string format_trace(const std::vector<RankTrace>& ranks, double origin,
                         const std::string& run);

}  // namespace pillion::products
