// SPDX-License-Identifier: BSD-3-Clause
// Numbers are written such that readers get the same ones back, as AMReX does.
#include "format.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace pillion::stages::write_plotfile {
namespace {

std::string real(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string list(const Index& numbers, int32_t count) {
  std::string out = "(";
  for (size_t d = 0; d < static_cast<size_t>(count); ++d)
    out += (d > 0 ? "," : "") + std::to_string(numbers[d]);
  return out + ")";
}

/// Both ends are included; the zeros say that values are at centres of cells.
std::string box_text(const Index& lo, const Index& hi, int32_t axes) {
  return "(" + list(lo, axes) + " " + list({hi[0] - 1, hi[1] - 1, hi[2] - 1}, axes) + " " +
         list({}, axes) + ")";
}

std::string rows_of(const Contents& contents, std::span<const size_t, 2> boxes, bool are_least) {
  std::string out =
      std::to_string(boxes[1] - boxes[0]) + "," + std::to_string(contents.names.size()) + "\n";
  for (size_t b = boxes[0]; b < boxes[1]; ++b) {
    const auto& extremes = contents.extremes[b];
    for (const double value : are_least ? extremes.least : extremes.largest)
      out += real(value) + ",";
    out += "\n";
  }
  return out;
}

/// Where the boxes of a level lie.
std::string places_of(const Geometry& geometry, const Contents& contents, int32_t level) {
  const auto [first, end] = contents.boxes_of(level);
  std::string out;
  for (size_t b = first; b < end; ++b)
    for (size_t d = 0; d < static_cast<size_t>(geometry.axes); ++d) {
      const auto& box = contents.boxes[b];
      const double width = geometry.width(static_cast<size_t>(level), d);
      const auto place = [&](int64_t cell) {
        return real(geometry.origin[d] + width * static_cast<double>(cell));
      };
      out += place(box.lo[d]) + " " + place(box.hi[d]) + "\n";
    }
  return out;
}

}  // namespace

Geometry::Geometry(const pillion_mesh& mesh) : axes(mesh.axes) {
  Level level;
  for (size_t d = 0; d < static_cast<size_t>(axes); ++d) {
    level.cells[d] = mesh.cells[d];
    origin[d] = mesh.origin[d];
    length[d] = mesh.length[d];
    periodic[d] = mesh.periodic[d] != 0;
  }
  levels.push_back(level);
  for (int32_t l = 1; l < mesh.levels; ++l) {
    for (size_t d = 0; d < static_cast<size_t>(axes); ++d) {
      const int32_t ratio = mesh.ratios[3 * (l - 1) + static_cast<int32_t>(d)];
      level.cells[d] *= ratio;
      level.refinement[d] *= ratio;
    }
    levels.push_back(level);
  }
}

std::array<size_t, 2> Contents::boxes_of(int32_t level) const {
  const auto found =
      std::equal_range(boxes.begin(), boxes.end(), StoredBox{{}, {}, 0, level, 0},
                       [](const auto& a, const auto& b) { return a.level < b.level; });
  return {static_cast<size_t>(found.first - boxes.begin()),
          static_cast<size_t>(found.second - boxes.begin())};
}

int32_t Contents::levels() const { return boxes.empty() ? 1 : boxes.back().level + 1; }

std::string level_name(int32_t level) { return "Level_" + std::to_string(level); }

std::string file_name(int32_t peer) {
  char text[32];
  std::snprintf(text, sizeof text, "Cell_D_%05d", peer);
  return text;
}

std::string header_text(const Geometry& geometry, const Contents& contents) {
  const int32_t levels = contents.levels();
  const auto axes = static_cast<size_t>(geometry.axes);
  std::string out = "HyperCLaw-V1.1\n" + std::to_string(contents.names.size()) + "\n";
  for (const auto& name : contents.names) out += name + "\n";
  out +=
      std::to_string(axes) + "\n" + real(contents.time) + "\n" + std::to_string(levels - 1) + "\n";
  for (size_t d = 0; d < axes; ++d) out += real(geometry.origin[d]) + " ";
  out += "\n";
  for (size_t d = 0; d < axes; ++d) out += real(geometry.origin[d] + geometry.length[d]) + " ";
  out += "\n";
  // The format has one ratio for all axes; those of the others follow from the boxes of levels.
  for (size_t l = 1; l < static_cast<size_t>(levels); ++l)
    out += std::to_string(geometry.levels[l].refinement[0] / geometry.levels[l - 1].refinement[0]) +
           " ";
  out += "\n";
  for (size_t l = 0; l < static_cast<size_t>(levels); ++l)
    out += box_text({}, geometry.levels[l].cells, geometry.axes) + " ";
  out += "\n";
  for (int32_t l = 0; l < levels; ++l) out += std::to_string(contents.step) + " ";
  out += "\n";
  for (size_t l = 0; l < static_cast<size_t>(levels); ++l) {
    for (size_t d = 0; d < axes; ++d) out += real(geometry.width(l, d)) + " ";
    out += "\n";
  }
  out += "0\n0\n";  // Cartesian; no cells around the mesh
  for (int32_t l = 0; l < levels; ++l) {
    const auto [first, end] = contents.boxes_of(l);
    out += std::to_string(l) + " " + std::to_string(end - first) + " " + real(contents.time) +
           "\n" + std::to_string(contents.step) + "\n" + places_of(geometry, contents, l) +
           level_name(l) + "/Cell\n";
  }
  return out;
}

std::string level_text(const Geometry& geometry, const Contents& contents, int32_t level) {
  const auto boxes = contents.boxes_of(level);
  const std::string count = std::to_string(boxes[1] - boxes[0]);
  // Version 1, several files, and no ghost cells.
  std::string out = "1\n1\n" + std::to_string(contents.names.size()) + "\n0\n(" + count + " 0\n";
  for (size_t b = boxes[0]; b < boxes[1]; ++b)
    out += box_text(contents.boxes[b].lo, contents.boxes[b].hi, geometry.axes) + "\n";
  out += ")\n" + count + "\n";
  for (size_t b = boxes[0]; b < boxes[1]; ++b)
    out += "FabOnDisk: " + file_name(contents.boxes[b].peer) + " " +
           std::to_string(contents.boxes[b].offset) + "\n";
  return out + "\n" + rows_of(contents, boxes, true) + "\n" + rows_of(contents, boxes, false) +
         "\n";
}

std::string box_header(int32_t axes, const Index& lo, const Index& hi, bool is_wide,
                       size_t components) {
  // The bits of IEEE's reals and the order of their bytes.
  std::string out = is_wide ? "FAB ((8, (64 11 52 0 1 12 0 1023)),(8, ("
                            : "FAB ((8, (32 8 23 0 1 9 0 127)),(4, (";
  const int bytes = is_wide ? 8 : 4;
  for (int n = 1; n <= bytes; ++n)
    out += (n > 1 ? " " : "") +
           std::to_string(std::endian::native == std::endian::little ? bytes + 1 - n : n);
  return out + ")))" + box_text(lo, hi, axes) + " " + std::to_string(components) + "\n";
}

std::string job_text(const Geometry& geometry) {
  std::string flags;
  for (size_t d = 0; d < static_cast<size_t>(geometry.axes); ++d)
    flags += geometry.periodic[d] ? " 1" : " 0";
  // The second is the name by which yt finds it.
  return "AMReX plotfile, written by Pillion\ngeometry.is_periodic =" + flags +
         "\nProb.lo_bc =" + flags + "\n";
}

}  // namespace pillion::stages::write_plotfile
