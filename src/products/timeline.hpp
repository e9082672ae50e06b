// SPDX-License-Identifier: BSD-3-Clause
// What one rank did when, in a bounded number of events, and all ranks' events as one Chrome trace
// that Perfetto opens.
#pragma once

#include <cstdint>
#include <string>
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
};

class Timeline {
 public:
  explicit Timeline(size_t capacity) : capacity_(capacity) {}

  /// Keeps the event, or only counts it once the timeline is full.
  void add(Event event);
  [[nodiscard]] base::Bytes serialise() const;

 private:
  size_t capacity_;
  int64_t dropped_ = 0;
  std::vector<Event> events_;
};

/// One rank's part of a trace.
struct RankTrace {
  std::string process;  ///< "simulation" or "sidecar"
  int64_t rank = 0;     ///< within the process
  base::Bytes events;   ///< of Timeline::serialise
};

/// Chrome trace format (JSON), times in microseconds since `origin` (calendar seconds).
std::string format_trace(const std::vector<RankTrace>& ranks, double origin);

}  // namespace pillion::products
