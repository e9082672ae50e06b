// SPDX-License-Identifier: BSD-3-Clause
// Texts of the YAML index of raw files: numbers, types in NumPy's notation, and what a mesh is.
#pragma once

#include <pillion/stage.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

#include "../../common/names.hpp"

namespace pillion::stages::write_raw {

/// In NumPy's notation.
inline std::string type_name(pillion_type type) {
  const std::string order = std::endian::native == std::endian::little ? "<" : ">";
  switch (type) {
    case PILLION_INT8: return "|i1";
    case PILLION_UINT8: return "|u1";
    case PILLION_INT16: return order + "i2";
    case PILLION_UINT16: return order + "u2";
    case PILLION_UINT32: return order + "u4";
    case PILLION_UINT64: return order + "u8";
    case PILLION_INT32: return order + "i4";
    case PILLION_INT64: return order + "i8";
    case PILLION_FLOAT32: return order + "f4";
    default: return order + "f8";
  }
}

inline std::string real(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  // YAML 1.1 readers take 1e-05 for a text unless there is a point.
  std::string out = text;
  const auto exponent = out.find('e');
  if (exponent != std::string::npos && out.find('.') == std::string::npos)
    out.insert(exponent, ".0");
  return out;
}

inline std::string list(const int64_t* numbers, int64_t count) {
  std::string out = "[";
  for (int64_t n = 0; n < count; ++n) out += (n > 0 ? ", " : "") + std::to_string(numbers[n]);
  return out + "]";
}

inline std::string list(const double* numbers, int64_t count = 3) {
  std::string out = "[";
  for (int64_t n = 0; n < count; ++n) out += (n > 0 ? ", " : "") + real(numbers[n]);
  return out + "]";
}

inline std::string text_of(const pillion_domain& domain) {
  const auto axis = [&](size_t d) { return domain.periodic[d] != 0 ? "true" : "false"; };
  return "{lo: " + list(domain.lo) + ", hi: " + list(domain.hi) + ", tilt: " + list(domain.tilt) +
         ", periodic: [" + axis(0) + ", " + axis(1) + ", " + axis(2) + "]" +
         (domain.dimensions == 2 ? ", dimensions: 2}" : "}");
}

/// What the mesh's axes measure, if not lengths alone.
inline std::string metric_of(const pillion_mesh& mesh) {
  if (mesh.metric == PILLION_CARTESIAN) return "";
  if (mesh.metric == PILLION_CYLINDRICAL) return ", metric: cylindrical";
  return ", metric: spherical" + (mesh.radius > 0 ? ", radius: " + real(mesh.radius) : "");
}

/// Of the cells' faces, which a program may change at any step; nothing of other meshes.
inline std::string coordinates_of(const pillion_mesh& mesh) {
  if (mesh.kind != PILLION_RECTILINEAR) return "";
  std::string out = "coordinates:\n";
  for (int32_t d = 0; d < mesh.axes; ++d)
    out += "  - " + list(mesh.coordinates[d], mesh.cells[d] + 1) + "\n";
  return out;
}

/// Of each finer level to the one before, along each axis; nothing if there is one level.
inline std::string ratios_of(const pillion_mesh& mesh) {
  std::string out;
  for (int32_t l = 0; l + 1 < mesh.levels; ++l) {
    const int32_t* ratio = mesh.ratios + 3 * l;
    const int64_t numbers[] = {ratio[0], ratio[1], ratio[2]};
    out += (l > 0 ? ", " : ", ratios: [") + list(numbers, mesh.axes);
  }
  return out.empty() ? out : out + "]";
}

/// What a mesh is, of any kind, as an entry of the index.
inline std::string text_of(const pillion_mesh& mesh, const pillion_field_description& field) {
  std::string text = "{name: " + in_quotes(field.mesh);
  const auto coordinates = [&] { return ", coordinates: " + in_quotes(field.coordinates); };
  switch (field.mesh_kind) {
    case PILLION_UNIFORM:
      text += ", cells: " + list(field.cells, field.axes) +
              ", origin: " + list(field.origin, field.axes) +
              ", length: " + list(field.length, field.axes);
      break;
    case PILLION_RECTILINEAR:
      text += ", cells: " + list(field.cells, field.axes) + ", kind: rectilinear";
      break;
    case PILLION_CURVILINEAR:
      text += ", cells: " + list(field.cells, field.axes) + ", kind: curvilinear" + coordinates();
      break;
    case PILLION_UNSTRUCTURED:
      text += ", kind: unstructured, dimensions: " + std::to_string(mesh.axes);
      if (mesh.of != nullptr) text += ", of: " + in_quotes(mesh.of);
      for (int32_t p = 0; p < mesh.patch_count; ++p)
        text += (p > 0 ? ", " : ", patches: [") + in_quotes(mesh.patches[p]) +
                (p + 1 == mesh.patch_count ? "]" : "");
      break;
    case PILLION_SPECTRAL:
      text += ", order: " + std::to_string(field.order) + coordinates() +
              (field.axes == 2 ? ", dimensions: 2" : "");
      break;
    default: break;
  }
  text += metric_of(mesh) + ratios_of(mesh);
  if (field.is_partial != 0) text += ", covered: partial";
  for (const auto& [key, name] : {std::pair{"mask", field.mask}, std::pair{"weight", field.weight}})
    if (name != nullptr && *name != '\0') text += std::string(", ") + key + ": " + in_quotes(name);
  return text + "}";
}

}  // namespace pillion::stages::write_raw
