// SPDX-License-Identifier: BSD-3-Clause
// Shares particles of an AMReX program: any ParticleContainer, with an array of structures, arrays
// beside it, or both, on all levels. Positions and components are not copied. Ids are: they are
// decoded from idcpu, and only if an analysis uses them. Call share() after Redistribute(), at
// every step that is due.
#pragma once

#include <AMReX_Geometry.H>
#include <AMReX_Particles.H>

#include <array>
#include <deque>
#include <pillion/amrex/boxes.hpp>
#include <pillion/amrex/catalogue.hpp>
#include <pillion/session.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pillion::amrex {

/// The domain of a geometry, for Session::set_domain.
inline Domain domain_of(const ::amrex::Geometry& geometry) {
  Domain domain{};
  domain.dimensions = AMREX_SPACEDIM < 3 ? 2 : 3;
  for (int d = 0; d < 3; ++d) {
    const bool exists = d < AMREX_SPACEDIM;
    domain.lo[d] = exists ? geometry.ProbLo(d) : 0;
    domain.hi[d] = exists ? geometry.ProbHi(d) : 1;
    domain.periodic[d] = exists && geometry.isPeriodic(d) ? 1 : 0;
  }
  return domain;
}

// Where a tile has its components; not for programs.
namespace particles {

/// One component of all particles of a tile: the first value, and the elements to the next.
template <class T>
struct Column {
  const T* data;
  int64_t stride;
};

template <class Tile>
inline constexpr bool is_soa = Tile::ParticleType::is_soa_particle;

template <class Tile>
void expect_host_memory(const std::string& mesh) {
  using Allocator = typename Tile::template AllocatorType<char>;
  if constexpr (!std::is_same_v<Allocator, ::amrex::PinnedArenaAllocator<char>> &&
                !std::is_same_v<Allocator, ::amrex::ManagedArenaAllocator<char>>)
    pillion::amrex::expect_host_memory(nullptr, "mesh '" + mesh + "' of particles");
}

/// A member of the structures, whose first one's is `first`.
template <class Tile, class T>
Column<T> in_structure(const T& first) {
  constexpr auto size = sizeof(typename Tile::ParticleType);
  static_assert(size % sizeof(T) == 0, "structures are aligned to their members");
  return {&first, static_cast<int64_t>(size / sizeof(T))};
}

template <class Tile>
auto position_of(const Tile& tile, int axis) {
  using T = ::amrex::ParticleReal;
  if constexpr (is_soa<Tile>)
    return Column<T>{tile.GetStructOfArrays().GetRealData(axis).data(), 1};
  else return in_structure<Tile, T>(tile.GetArrayOfStructs()()[0].m_pos[axis]);
}

[[noreturn]] inline void refuse(int component, int count, const std::string& field) {
  throw Error(ErrorCode::Argument, "field '" + field + "' is component " +
                                       std::to_string(component) + " of particles that have " +
                                       std::to_string(count));
}

template <class Tile>
Column<::amrex::ParticleReal> real_of(const Tile& tile, int component, const std::string& field) {
  constexpr int in_struct = is_soa<Tile> ? 0 : Tile::ParticleType::NReal;
  const int all = in_struct + tile.NumRealComps();
  if (component < 0 || component >= all) refuse(component, all, field);
  if constexpr (in_struct > 0)
    if (component < in_struct)
      return in_structure<Tile>(tile.GetArrayOfStructs()()[0].m_rdata[component]);
  return {tile.GetStructOfArrays().GetRealData(component - in_struct).data(), 1};
}

template <class Tile>
Column<int> integer_of(const Tile& tile, int component, const std::string& field) {
  constexpr int in_struct = is_soa<Tile> ? 0 : Tile::ParticleType::NInt;
  const int all = in_struct + tile.NumIntComps();
  if (component < 0 || component >= all) refuse(component, all, field);
  if constexpr (in_struct > 0)
    if (component < in_struct)
      return in_structure<Tile>(tile.GetArrayOfStructs()()[0].m_idata[component]);
  return {tile.GetStructOfArrays().GetIntData(component - in_struct).data(), 1};
}

/// Id and rank of birth in one number that no other particle has, and that is not negative: idcpu
/// without the sign bit, which AMReX sets for particles that exist.
inline int64_t id_of(uint64_t idcpu) { return static_cast<int64_t>(idcpu & ~(uint64_t{1} << 63)); }

template <class SoA, class = void>
inline constexpr bool has_idcpu = false;
template <class SoA>
inline constexpr bool
    has_idcpu<SoA, std::void_t<decltype(std::declval<const SoA&>().GetIdCPUData())>> = true;

template <class Tile>
std::vector<int64_t> ids_of(const Tile& tile, int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  const auto& arrays = tile.GetStructOfArrays();
  for (size_t p = 0; p < ids.size(); ++p) {
    if constexpr (!is_soa<Tile>) ids[p] = id_of(tile.GetArrayOfStructs()()[p].m_idcpu);
    else if constexpr (has_idcpu<std::decay_t<decltype(arrays)>>)
      ids[p] = id_of(arrays.GetIdCPUData()[p]);
    else  // AMReX before 23.12 keeps them in the first two arrays of integers
      ids[p] = (int64_t{arrays.GetIntData(0)[p]} << 24) | arrays.GetIntData(1)[p];
  }
  return ids;
}

}  // namespace particles

/// Which fields of a particle mesh are made from what a container has. Components are counted as in
/// AMReX: those of the structure first, then those of the arrays beside it, run-time ones included.
/// With the mesh `dark_matter`, the field of positions is `dark_matter_position` and that of ids
/// `dark_matter_id`, unless they are named. One object belongs to one mesh, and owns the ids.
class ParticleFields {
 public:
  explicit ParticleFields(std::string mesh)
      : mesh_(mesh), position_(mesh + "_position"), id_(std::move(mesh) + "_id") {}

  ParticleFields& position(const std::string& name) {
    position_ = name;
    return *this;
  }
  ParticleFields& id(const std::string& name) {
    id_ = name;
    return *this;
  }
  /// A field of real components: real("velocity", {1, 2, 3}, "km/s").
  ParticleFields& real(const std::string& name, const std::vector<int>& components,
                       const std::string& units = "") {
    reals_.push_back({name, components, units});
    return *this;
  }
  /// A field of integer components.
  ParticleFields& integer(const std::string& name, const std::vector<int>& components) {
    integers_.push_back({name, components, ""});
    return *this;
  }

  /// Adds the mesh and its fields to a catalogue.
  void declare(Catalogue& catalogue, const std::string& units = "") const {
    catalogue.particle_mesh(mesh_, units);
    catalogue.field<::amrex::ParticleReal>(mesh_, position_, units, 3);
    catalogue.field<int64_t>(mesh_, id_);
    for (const auto& field : reals_)
      catalogue.field<::amrex::ParticleReal>(mesh_, field.name, field.units,
                                             static_cast<int>(field.components.size()));
    for (const auto& field : integers_)
      catalogue.field<int>(mesh_, field.name, "", static_cast<int>(field.components.size()));
  }

  /// Shares the particles of all levels, a block for each tile, and sets the domain of the mesh.
  template <class Container>
  void share(Session& session, const Container& particles) {
    session.set_domain(mesh_, domain_of(particles.Geom(0)));
    const bool with_ids = session.uses(id_);
    ids_.clear();
    each_field([&](const std::string& name) { session.begin_blocks(name); });
    for (const auto& level : particles.GetParticles())
      for (const auto& entry : level) share_tile(session, entry.second, with_ids);
    each_field([&](const std::string& name) { session.end_blocks(name); });
  }

 private:
  struct Source {
    std::string name;
    std::vector<int> components;
    std::string units;
  };

  template <class F>
  void each_field(F&& call) const {
    call(position_);
    call(id_);
    for (const auto& field : reals_) call(field.name);
    for (const auto& field : integers_) call(field.name);
  }

  template <class Tile>
  void share_tile(Session& session, const Tile& tile, bool with_ids) {
    const int64_t count = tile.numRealParticles();
    if (count == 0) return;
    particles::expect_host_memory<Tile>(mesh_);
    std::vector<particles::Column<::amrex::ParticleReal>> columns;
    for (int d = 0; d < AMREX_SPACEDIM; ++d) columns.push_back(particles::position_of(tile, d));
    // A plane's third coordinate does not count.
    while (columns.size() < 3) columns.push_back(columns.back());
    share_columns(session, position_, count, columns);
    for (const auto& field : reals_) {
      columns.clear();
      for (const int c : field.components)
        columns.push_back(particles::real_of(tile, c, field.name));
      share_columns(session, field.name, count, columns);
    }
    std::vector<particles::Column<int>> integers;
    for (const auto& field : integers_) {
      integers.clear();
      for (const int c : field.components)
        integers.push_back(particles::integer_of(tile, c, field.name));
      share_columns(session, field.name, count, integers);
    }
    if (!with_ids) return;
    ids_.push_back(particles::ids_of(tile, count));
    session.share_particles(id_, ids_.back(), count, any_block);
  }

  /// Components of one field lie in the structure, or in arrays beside it, but not in both.
  template <class T>
  static void share_columns(Session& session, const std::string& name, int64_t count,
                            const std::vector<particles::Column<T>>& columns) {
    std::vector<const T*> data;
    for (const auto& column : columns) {
      if (column.stride != columns.front().stride)
        throw Error(ErrorCode::Argument,
                    "components of field '" + name +
                        "' lie in structures of particles and in arrays beside them; make a field "
                        "of each");
      data.push_back(column.data);
    }
    const std::array<int64_t, 1> stride{columns.front().stride};
    session.share_components(name, data, count, any_block, stride);
  }

  std::string mesh_, position_, id_;
  std::vector<Source> reals_, integers_;
  std::deque<std::vector<int64_t>> ids_;  // of each tile; a deque does not move them
};

}  // namespace pillion::amrex
