// SPDX-License-Identifier: BSD-3-Clause
// The fields that are written: all on one mesh, of any types and numbers of components. Their
// blocks as shared, with one value after the other as files have them.
#pragma once

#include <pillion/stage.h>

#include <cstddef>
#include <cstring>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/messages.hpp"

namespace pillion::stages::write {

struct WrittenFields {
  std::vector<std::string> names;
  std::vector<pillion_field_description> fields;

  /// From the parameter `fields`. Files that hold coordinates of points take all meshes, others
  /// all but those whose cells are where their points are.
  explicit WrittenFields(const stage::Setup& setup, bool takes_all_meshes = false,
                         bool takes_points = false) {
    const auto list = setup["fields"];
    for (const auto& name : list.texts()) {
      for (const auto& before : names)
        if (before == name) list.fail("field '" + name + "' is listed twice");
      const auto field = setup.field(name, list);
      if (!takes_points && (is_unstructured(field) || field.mesh_kind == PILLION_CURVILINEAR))
        list.fail("field '" + name + "' is on mesh '" + field.mesh +
                  "', whose cells are where its points are, and these files hold no points; "
                  "write_vtkhdf writes them");
      if (!takes_all_meshes) expect_equal_cells(field, list, "the IDX format");
      if (!takes_all_meshes && field.mesh_kind != PILLION_UNIFORM)
        list.fail("field '" + name +
                  "' is not on a uniform mesh, which write_idx needs; write_hdf5 "
                  "and write_raw take fields of any mesh");
      if (!fields.empty() && std::string(field.mesh) != fields.front().mesh)
        list.fail("fields '" + names.front() + "' and '" + name +
                  "' are on different meshes; write them in two stages");
      names.push_back(name);
      fields.push_back(field);
    }
    if (names.empty()) list.fail("no fields are listed");
  }

  /// Adds the mask and the weight of the mesh, so that files have them too.
  void add_mask_and_weight(const stage::Setup& setup) {
    for (const char* name : {mesh().mask, mesh().weight}) {
      if (name == nullptr || *name == '\0' ||
          std::find(names.begin(), names.end(), name) != names.end())
        continue;
      names.push_back(name);
      fields.push_back(setup.field(name, setup["fields"]));
    }
  }

  /// Fails if values would be written without the cells that they are of; `what` says for whom.
  void expect_no_cells(const stage::Setup& setup, const std::string& what) const {
    if (fields.front().mesh_kind == PILLION_UNSTRUCTURED)
      setup["fields"].fail("mesh '" + std::string(fields.front().mesh) + "' is unstructured, and " +
                           what + " writes no points and cells; write_vtkhdf does");
  }

  [[nodiscard]] const pillion_field_description& mesh() const { return fields.front(); }
  [[nodiscard]] size_t bytes_per_sample() const {
    size_t bytes = 0;
    for (const auto& field : fields) bytes += element_size(field);
    return bytes;
  }
  static size_t element_size(const pillion_field_description& field) {
    return static_cast<size_t>(stage::size_of_element(field.type) * field.components *
                               points_of(field));
  }
};

inline size_t bytes_of(pillion_type type) {
  return static_cast<size_t>(stage::size_of_element(type));
}

struct Source {
  size_t array = 0;  ///< number of the field among the written ones
  size_t begin = 0;  ///< byte of the element at which what is wanted begins
};

/// Whether elements lie one after the other along the axes of such an extent.
inline bool is_packed(const stage::Array& array, const int64_t (&extent)[3]) {
  int64_t stride = array.components;
  for (int d = 0; d < 3; ++d) {
    if (extent[d] > 1 && array.strides[d] != stride) return false;
    stride *= extent[d];
  }
  return array.components == 1 || array.strides[3] == 1;
}

/// The first axis fastest, components interleaved.
inline Bytes close_packed(const stage::Array& array, const int64_t (&extent)[3]) {
  const size_t size = bytes_of(array.type);
  Bytes out(static_cast<size_t>(extent[0] * extent[1] * extent[2] * array.components) * size);
  std::byte* to = out.data();
  const auto* from = static_cast<const std::byte*>(array.data);
  for (int64_t k = 0; k < extent[2]; ++k)
    for (int64_t j = 0; j < extent[1]; ++j)
      for (int64_t i = 0; i < extent[0]; ++i)
        for (int64_t c = 0; c < array.components; ++c, to += size) {
          const int64_t at = i * array.strides[0] + j * array.strides[1] + k * array.strides[2] +
                             c * array.strides[3];
          std::memcpy(to, from + at * static_cast<int64_t>(size), size);
        }
  return out;
}

}  // namespace pillion::stages::write
