// SPDX-License-Identifier: BSD-3-Clause
// Frames as bytes.
#include "replay/message.hpp"
#include "replay/plan.hpp"

namespace replay {
namespace {

void put(Packer& out, const Stored& stored) {
  for (const auto* text : {&stored.path, &stored.dataset, &stored.type}) out.put(*text);
  out.put(stored.number);
  out.put(stored.swapped);
  out.put(stored.fortran);
  out.put(stored.shape);
  out.put(stored.offset);
  out.put(stored.format);
  out.put(stored.step);
  out.put(stored.column);
}

Stored get_stored(Unpacker& in) {
  Stored stored;
  for (auto* text : {&stored.path, &stored.dataset, &stored.type}) in.get(*text);
  in.get(stored.number);
  in.get(stored.swapped);
  in.get(stored.fortran);
  in.get(stored.shape);
  in.get(stored.offset);
  in.get(stored.format);
  in.get(stored.step);
  in.get(stored.column);
  return stored;
}

}  // namespace

std::string bytes_of(const std::vector<Frame>& frames) {
  Packer out;
  out.put(frames.size());
  for (const auto& frame : frames) {
    out.put(frame.step);
    out.put(frame.time);
    out.put(frame.domains);
    out.put(frame.fields.size());
    for (const auto& [field, stored] : frame.fields) {
      out.put(field);
      put(out, stored);
    }
  }
  return out.bytes;
}

std::vector<Frame> read_frames(const std::string& bytes) {
  Unpacker in(bytes);
  std::vector<Frame> frames(in.next<size_t>());
  for (auto& frame : frames) {
    in.get(frame.step);
    in.get(frame.time);
    in.get(frame.domains);
    for (auto n = in.next<size_t>(); n > 0; --n) {
      const auto field = in.next<std::string>();
      frame.fields[field] = get_stored(in);
    }
  }
  return frames;
}

}  // namespace replay
