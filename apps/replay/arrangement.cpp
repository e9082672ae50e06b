// SPDX-License-Identifier: BSD-3-Clause
// Comparing an array with the field that it is to be.
#include "replay/arrangement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace replay {
namespace {

using pillion::Error;
using pillion::ErrorCode;
using pillion::Field;

std::string brackets(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// The dimensions of an array of that field, as they are indexed. The number of particles is not
/// known, and 0 here.
Arrangement indexed(const Field& field, Indices indices) {
  Arrangement out;
  if (field.mesh_kind == PILLION_PARTICLES) {
    out.push_back({0, 0});
  } else {
    for (int a = 0; a < field.axes; ++a) out.push_back({a, field.cells[static_cast<size_t>(a)]});
    if (indices == Indices::Zyx) std::reverse(out.begin(), out.end());
  }
  out.push_back({Dimension::components, field.components});
  return out;
}

bool has_shape(const std::vector<int64_t>& shape, const Arrangement& expected, bool particles) {
  if (shape.size() != expected.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != expected[d].extent && !(particles && d == 0)) return false;
  return true;
}

std::string words_for(const Field& field, const Arrangement& expected) {
  std::vector<int64_t> shape;
  for (const auto& dimension : expected) shape.push_back(dimension.extent);
  if (field.components == 1) shape.pop_back();
  if (field.mesh_kind == PILLION_UNIFORM) return brackets(shape);
  return field.components == 1 ? "[n]" : fmt::format("[n, {}]", field.components);
}

std::string advice(const Stored& stored, const Field& field, Indices indices) {
  if (field.mesh_kind == PILLION_PARTICLES) return {};
  if (stored.has_known_order()) return "; do the parameters say the right cells?";
  const Indices other = indices == Indices::Zyx ? Indices::Xyz : Indices::Zyx;
  auto turned = indexed(field, other);
  if (stored.shape.size() + 1 == turned.size() && field.components == 1) turned.pop_back();
  if (!has_shape(stored.shape, turned, false)) return "; do the parameters say the right cells?";
  return fmt::format("; if it is indexed the other way, say --axes {}",
                     other == Indices::Xyz ? "xyz" : "zyx");
}

void check_type(const Stored& stored, const Field& field) {
  if (!stored.number)
    throw Error(ErrorCode::File,
                fmt::format("{} holds values of type '{}', which are not read; store integers of "
                            "1 to 8 bytes or reals of 4 or 8",
                            stored.place(), stored.type));
  if (!fits(*stored.number, field.type))
    throw Error(
        ErrorCode::File,
        fmt::format("{} holds {}, but field '{}' is declared {}, which would lose some of "
                    "it; declare another type, or convert the file",
                    stored.place(), name_of(*stored.number), field.name, name_of(field.type)));
}

}  // namespace

Arrangement arrange(const Stored& stored, const Field& field, Indices indices) {
  check_type(stored, field);
  if (stored.has_known_order()) indices = Indices::Zyx;
  const bool particles = field.mesh_kind == PILLION_PARTICLES;
  const auto expected = indexed(field, indices);
  auto out = expected;
  // Scalars need no index for their one component.
  if (field.components == 1 && stored.shape.size() + 1 == expected.size()) out.pop_back();
  if (!has_shape(stored.shape, out, particles))
    throw Error(ErrorCode::File,
                fmt::format("{} has shape {}, but field '{}' on mesh '{}' needs {}{}",
                            stored.place(), brackets(stored.shape), field.name, field.mesh,
                            words_for(field, expected), advice(stored, field, indices)));
  for (size_t d = 0; d < out.size(); ++d) out[d].extent = stored.shape[d];
  if (stored.fortran) std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace replay
