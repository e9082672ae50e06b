// SPDX-License-Identifier: BSD-3-Clause
// What one rank did when, in a bounded number of events, and the events of a node's ranks as a
// Chrome trace that Perfetto opens. The first events are kept as they are. Later ones are added up
// in windows of time, which grow as the run lasts. On request every event is written to a file as
// it happens.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "products/whole_file.hpp"

namespace pillion::products {

struct Event {
  std::string name;
  std::string category;
  double begin = 0;  ///< calendar seconds
  double end = 0;
  int64_t step = 0;
  double waited = 0;  ///< seconds of it in which the rank waited for others
};

class Timeline {
 public:
  /// Keeps `capacity` events as they are, and as many sums of later ones.
  explicit Timeline(size_t capacity) : capacity_(capacity) {}

  /// Keeps the event, or adds it to its window once the timeline is full.
  void add(Event event);
  /// From here on every event is also a line of a file, `FOLDER/PROCESS-RANK.jsonl`, as soon as it
  /// has happened: what a trace has of it, in microseconds since 1970. Throws if there can be none.
  void follow(const std::filesystem::path& folder, const std::string& process, int64_t rank);
  /// This rank's part of a trace: events in JSON, with commas between them, in microseconds since
  /// `origin` (calendar seconds). `process` is "simulation" or "sidecar"; `rank` counts within it.
  [[nodiscard]] std::string format(const std::string& process, int64_t rank, double origin) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  /// Which events are added up: number of the window, category and name.
  using Key = std::tuple<int64_t, std::string, std::string>;
  struct Sum {
    double seconds = 0;
    int64_t events = 0;
    int64_t step = 0;  ///< of the first event
  };

  void sum_up(const Event& event);
  void widen();
  void tell(const Event& event);

  size_t capacity_;
  std::vector<Event> events_;
  double windows_from_ = 0;  ///< calendar seconds
  double window_ = 1.0 / 16;
  double last_end_ = 0;
  std::map<Key, Sum> sums_;
  std::string process_;
  int64_t rank_ = 0;
  std::unique_ptr<std::FILE, Close> followed_;
};

/// A trace (JSON) of the parts of ranks, as Timeline::format makes them, each written as it is
/// added. Throws ErrorCode::File.
class TraceFile {
 public:
  /// `run` is the run's id.
  TraceFile(const std::filesystem::path& path, const std::string& run);
  void add(std::string_view part);
  void finish();

 private:
  WholeFile file_;
  bool is_empty_ = true;
};

}  // namespace pillion::products
