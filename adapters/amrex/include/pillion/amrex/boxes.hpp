// SPDX-License-Identifier: BSD-3-Clause
// Shares what lies on the boxes of an AMReX program: MultiFabs, iMultiFabs, and any FabArray of
// numbers, on all levels, with ghost cells and components as they are. Nothing is copied, so the
// memory must stay until the fields are shared again or taken back. Share all fields again at every
// step that is due: AMReX swaps its arrays, and boxes change at a regrid.
#pragma once

#include <AMReX_Arena.H>
#include <AMReX_FabArray.H>
#include <AMReX_Geometry.H>
#include <AMReX_MFIter.H>
#include <AMReX_Vector.H>

#include <array>
#include <pillion/session.hpp>
#include <string>
#include <vector>

namespace pillion::amrex {

/// Throws unless programs on the host can read memory of this arena. A null pointer is AMReX's
/// default arena.
inline void expect_host_memory(const ::amrex::Arena* arena, const std::string& what) {
  if (arena == nullptr) arena = ::amrex::The_Arena();
  if (arena == nullptr || arena->isHostAccessible()) return;
  throw Error(ErrorCode::Sharing,
              what +
                  " lies in the memory of a device, which Pillion cannot read; set "
                  "amrex.the_arena_is_managed = 1, or allocate it in The_Pinned_Arena()");
}

/// Takes back all blocks of fields, so that their memory may go.
inline void unshare(Session& session, const std::vector<std::string>& fields) {
  for (const auto& field : fields) {
    session.begin_blocks(field);
    session.end_blocks(field);
  }
}

// Behind the functions below; not for programs.
namespace boxes {

/// Components first, first + 1, … of a level are the fields, or those of one field.
template <class MF>
void expect_level(const MF& values, const std::string& name, int level, int first, int components) {
  const std::string what = "level " + std::to_string(level) + " of field '" + name + "'";
  if (!values.ixType().cellCentered())
    throw Error(ErrorCode::Argument,
                what +
                    " has values at nodes, faces or edges; average it to cells first, as with "
                    "amrex::average_node_to_cellcenter");
  if (first < 0 || first + components > values.nComp())
    throw Error(ErrorCode::Argument,
                what + " is component " + std::to_string(first + components - 1) +
                    " of an array with " + std::to_string(values.nComp()) + " components");
  expect_host_memory(values.arena(), what);
}

/// Shares the inner cells of one array as a field whose first component is `component`.
template <class FAB>
void share_box(Session& session, const std::string& field, const FAB& values,
               const ::amrex::Box& cells, const ::amrex::IntVect& origin, int level,
               int component) {
  const auto& whole = values.box();
  int64_t lo[AMREX_SPACEDIM], hi[AMREX_SPACEDIM];
  std::array<int64_t, AMREX_SPACEDIM + 1> strides{};
  int64_t stride = 1, first = 0;
  for (int d = 0; d < AMREX_SPACEDIM; ++d) {
    lo[d] = cells.smallEnd(d) - origin[d];
    hi[d] = cells.bigEnd(d) + 1 - origin[d];
    strides[d] = stride;
    first += stride * (cells.smallEnd(d) - whole.smallEnd(d));
    stride *= whole.length(d);
  }
  strides[AMREX_SPACEDIM] = stride;
  session.share_strided(field, values.dataPtr(component) + first, Box(lo, hi).on_level(level),
                        strides, any_block);
}

/// Calls share(array, box, origin, level) for every box that this rank owns, between begin_blocks
/// and end_blocks of the fields.
template <class MF, class F>
void for_all(Session& session, const std::vector<std::string>& fields,
             const ::amrex::Vector<const MF*>& levels,
             const ::amrex::Vector<::amrex::Geometry>& geometry, F&& share) {
  if (levels.size() > geometry.size())
    throw Error(ErrorCode::Argument, std::to_string(levels.size()) +
                                         " levels were shared with geometries of " +
                                         std::to_string(geometry.size()) + "; give one for each");
  for (const auto& field : fields) session.begin_blocks(field);
  for (int level = 0; level < levels.size(); ++level) {
    if (levels[level] == nullptr) continue;
    const auto& values = *levels[level];
    for (::amrex::MFIter box(values); box.isValid(); ++box)
      share(values[box], box.validbox(), geometry[level].Domain().smallEnd(), level);
  }
  for (const auto& field : fields) session.end_blocks(field);
}

}  // namespace boxes

/// Shares components first, first + 1, … of all levels, each as the field of one component that
/// `fields` names. levels[l] is level l, and may be null where a level does not exist now. The
/// geometries are those of the levels, as AmrMesh::Geom() gives them; they may be more.
template <class MF>
void share(Session& session, const std::vector<std::string>& fields,
           const ::amrex::Vector<const MF*>& levels,
           const ::amrex::Vector<::amrex::Geometry>& geometry, int first = 0) {
  for (int level = 0; level < levels.size(); ++level)
    if (levels[level] != nullptr && !fields.empty())
      boxes::expect_level(*levels[level], fields.back(), level, first,
                          static_cast<int>(fields.size()));
  boxes::for_all(session, fields, levels, geometry,
                 [&](const auto& values, const auto& cells, const auto& origin, int level) {
                   for (size_t f = 0; f < fields.size(); ++f)
                     boxes::share_box(session, fields[f], values, cells, origin, level,
                                      first + static_cast<int>(f));
                 });
}

/// The same for one field that has several components: first, first + 1, …
template <class MF>
void share_vector(Session& session, const std::string& field, int components,
                  const ::amrex::Vector<const MF*>& levels,
                  const ::amrex::Vector<::amrex::Geometry>& geometry, int first = 0) {
  for (int level = 0; level < levels.size(); ++level)
    if (levels[level] != nullptr)
      boxes::expect_level(*levels[level], field, level, first, components);
  boxes::for_all(session, {field}, levels, geometry,
                 [&](const auto& values, const auto& cells, const auto& origin, int level) {
                   boxes::share_box(session, field, values, cells, origin, level, first);
                 });
}

/// For programs with one level.
template <class MF>
void share(Session& session, const std::vector<std::string>& fields, const MF& values,
           const ::amrex::Geometry& geometry, int first = 0) {
  share(session, fields, ::amrex::Vector<const MF*>{&values},
        ::amrex::Vector<::amrex::Geometry>{geometry}, first);
}

}  // namespace pillion::amrex
