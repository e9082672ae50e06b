// SPDX-License-Identifier: BSD-3-Clause
// Datasets of an UnstructuredGrid, to which blocks are added: particles as vertices, spectral
// elements as hexahedra, and blocks of unstructured meshes as they are. Each block is a part of its
// own, so no index changes.
#pragma once

#include <array>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "meshes.hpp"

namespace pillion::stages::write_vtkhdf {

/// What some block has, and all must have in the file then.
struct GridParts {
  bool polyhedra = false, flags = false, cell_ids = false, point_ids = false, parents = false,
       patches = false;

  void look_at(const stage::Block& block);
  [[nodiscard]] std::array<int64_t, 6> as_numbers() const {
    return {polyhedra, flags, cell_ids, point_ids, parents, patches};
  }
  static GridParts of_numbers(const std::array<int64_t, 6>& n) {
    return {n[0] > 0, n[1] > 0, n[2] > 0, n[3] > 0, n[4] > 0, n[5] > 0};
  }
};

class Grid {
 public:
  Grid(const Wanted& wanted, const GridParts& parts);

  void add_particles(const stage::Block& block);
  void add_elements(const stage::Block& block);
  void add_cells(const stage::Block& block);
  /// Of a curvilinear or rectilinear mesh.
  void add_box(const pillion_mesh& mesh, const stage::Block& block);
  /// Readers want one part at least.
  void add_nothing();
  [[nodiscard]] size_t parts() const { return part_count_; }
  [[nodiscard]] std::vector<Dataset> take() { return std::move(datasets_); }

 private:
  void make(const std::string& name, pillion_type element, std::vector<int64_t> row = {});
  void add(const std::string& name, int64_t count, Source source);
  void add_number(const std::string& name, int64_t value);
  void add_part(int64_t points, int64_t cells, int64_t ids);
  void add_polyhedra(const pillion_connectivity& of, int64_t cells);
  void add_ids(const stage::Block& block);
  [[nodiscard]] std::string path_of(size_t field) const;

  const Wanted& wanted_;
  GridParts has_;
  size_t part_count_ = 0;
  std::vector<Dataset> datasets_;
};

/// For each node of VTK's Lagrange hexahedron or, of two axes, quadrilateral of an order, which
/// point of an element it is; points are counted along the first axis first.
std::vector<int64_t> lagrange_nodes(int32_t order, int32_t axes = 3);
/// The same for the corners of the linear cells between the points, order of them along each axis,
/// cell after cell.
std::vector<int64_t> split_nodes(int32_t order, int32_t axes = 3);

}  // namespace pillion::stages::write_vtkhdf
