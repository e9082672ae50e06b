// SPDX-License-Identifier: BSD-3-Clause
// What ranks do in the study of analyses in transit: steps of a particle-mesh simulation like
// miniapps/cosmology, its transforms by pencils, and the stages `halos` and `power_spectrum`.
// Computing takes the time that the kernels were measured to take; who sends what to whom follows
// from the library's own tilings.
#pragma once

#include <map>
#include <string>

#include "layout/division.hpp"
#include "side.hpp"

namespace study {

using pillion::layout::Box;
using pillion::layout::Tiling;

/// By name; see kernels.json.
using Kernels = std::map<std::string, double>;

/// The Fourier transform of a mesh in pencils.
class Transform {
 public:
  /// [leaders]
  Transform(const Side& side, int64_t cells, const Kernels& kernels);
  void forward() const;
  void backward() const;
  /// Of the busiest rank of this node.
  [[nodiscard]] double cells() const { return cells_; }

 private:
  void pass() const;
  double cells_, seconds_;
  Exchange first_, second_, second_back_, first_back_;
};

/// Steps of the simulation.
class Solver {
 public:
  Solver(const Side& side, int64_t cells, const Kernels& kernels);
  void step() const;
  /// Brings the density from pencils to boxes, to be published.
  void fill_boxes() const { boxes_(); }

 private:
  const Kernels& kernels_;
  Transform transform_;
  Exchange ghosts_, boxes_;
};

/// The two analyses, on values that are there in their layouts.
class Analyses {
 public:
  Analyses(const Side& side, int64_t cells, const Kernels& kernels);
  void halos() const;
  void spectrum() const;

 private:
  struct Round {
    Exchange exchange;
    double bytes;  ///< that the busiest rank of this node merges
  };
  void swap(const Exchange& exchange) const;
  [[nodiscard]] std::vector<Round> rounds(const Tiling& blocks) const;

  const Side& side_;
  double mesh_cells_, block_cells_;
  int64_t lines_;
  const Kernels& kernels_;
  Transform transform_;
  Exchange asks_, gathering_;
  std::vector<Round> rounds_;
};

/// All that a rank sends for its boxes in one layout to be in another.
std::vector<Consignment> consignments(const Tiling& from, int rank,
                                      const pillion::layout::Wanted& to, double bytes_per_cell);
/// 32^3 cells each.
Tiling boxes_of(int64_t cells, int ranks);

}  // namespace study
