// SPDX-License-Identifier: BSD-3-Clause
// The file of frames that a test makes for a driver: fields with their types, and for every frame
// step, time, domain, number of elements, and the values of all fields. Written by frames.py, which
// says the same in numpy. Native byte order; integers are int64.
#pragma once

#include <pillion/types.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

struct FrameField {
  std::string name;
  pillion_type type = 0;
  int64_t components = 1;

  [[nodiscard]] size_t bytes() const {
    const bool wide = type == PILLION_INT64 || type == PILLION_FLOAT64;
    return static_cast<size_t>(components) * (wide ? 8 : 4);
  }
};

struct Frame {
  int64_t step = 0;
  double time = 0;
  pillion_domain domain{};
  int64_t count = 0;
  std::vector<std::vector<char>> values;  ///< one per field, elements contiguous
};

struct Frames {
  std::vector<FrameField> fields;
  std::vector<Frame> frames;
};

class FrameReader {
 public:
  explicit FrameReader(const std::string& path) : in_(path, std::ios::binary) {
    if (!in_) throw std::runtime_error("cannot open " + path);
  }

  Frames read() {
    Frames out;
    out.fields.resize(static_cast<size_t>(integer()));
    out.frames.resize(static_cast<size_t>(integer()));
    for (auto& field : out.fields) field = read_field();
    for (auto& frame : out.frames) frame = read_frame(out.fields);
    return out;
  }

 private:
  FrameField read_field() {
    std::string name(static_cast<size_t>(integer()), ' ');
    take(name.data(), name.size());
    const auto type = static_cast<pillion_type>(integer());
    return {name, type, integer()};
  }
  Frame read_frame(const std::vector<FrameField>& fields) {
    Frame frame;
    frame.step = integer();
    take(&frame.time, sizeof frame.time);
    for (auto* corner : {&frame.domain.lo, &frame.domain.hi, &frame.domain.tilt})
      take(corner, sizeof *corner);
    for (auto& periodic : frame.domain.periodic) periodic = static_cast<int32_t>(integer());
    frame.count = integer();
    for (const auto& field : fields) {
      frame.values.emplace_back(field.bytes() * static_cast<size_t>(frame.count));
      take(frame.values.back().data(), frame.values.back().size());
    }
    return frame;
  }
  int64_t integer() {
    int64_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  void take(void* to, size_t size) {
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
    if (!in_) throw std::runtime_error("the file of frames ends early");
  }

  std::ifstream in_;
};

}  // namespace conformance
