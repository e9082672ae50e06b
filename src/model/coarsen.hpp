// SPDX-License-Identifier: BSD-3-Clause
// Power-of-two subsamples: what is published, rather than nothing, where there is no room for all.
// At level k about one of 2^k values remains. Which ones depends on global indices or on ids alone,
// so the parts of all ranks make the coarse whole, whatever the decomposition, and every level
// contains the next one.
#pragma once

#include <cstdint>
#include <string>

#include "model/block.hpp"
#include "model/catalogue.hpp"

namespace pillion::model {

// Keys made to look random: which rank owns a particle and whether it belongs to a subsample are
// read off the result, so that neither depends on a pattern in the keys, such as every third atom.

/// A bijection whose every bit depends on every bit of the key (finaliser of SplitMix64, Steele,
/// Lea and Flood 2014).
constexpr uint64_t scatter(int64_t key) {
  auto z = static_cast<uint64_t>(key) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

constexpr int max_coarsening = 12;

/// The smallest level at which what is published shrinks by `ratio`; at most max_coarsening.
int level_for(double ratio);

/// What a level means on a mesh: by how much each axis of a mesh of boxes is coarser, or of how
/// many particles one remains. A mesh with levels of refinement stays as it is: 1. 1 at level 0.
/// Throws if there is no such level.
int64_t coarsening_factor(const Mesh& mesh, int level);

/// The mesh of coarse blocks. The cells that remain are those whose index is a multiple of the
/// factor; the cells of the coarse mesh are wider by the factor, with these at their centres; of a
/// rectilinear mesh, as coarse_faces() has them. An axis that the factor does not divide is
/// periodic no more. Particles: the mesh itself.
Mesh coarse_mesh(const Mesh& mesh, int level);

/// What remains of one rank's blocks: as many blocks, empty ones included. Boxes are in coarse
/// indices, and their arrays are strided views of the memory of `fine`. Particles are gathered into
/// memory of their own. Where their block has the scalar integer field `key` they remain or go by
/// it, the same ones at every step; elsewhere by their place among the rank's, scattered too, for
/// places that are evenly spaced would be a pattern in space if particles are sorted by it.
MeshBlocks coarsen(const MeshBlocks& fine, const Mesh& mesh, int level, const std::string& key);

}  // namespace pillion::model
