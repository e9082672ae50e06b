// SPDX-License-Identifier: BSD-3-Clause
// Sharing of data in the C interface.
#include <span>

#include "capi/handle.hpp"

using pillion::base::guard;
using pillion::capi::contained;
using pillion::capi::given;
using pillion::capi::side;
using pillion::capi::text;
using pillion::model::MeshKind;

struct pillion_kept {
  std::shared_ptr<const void> memory;
};

namespace {

pillion::simulation::Sharing::Components components_of(const pillion_arrays* arrays) {
  const auto& of = given(arrays, "the arrays");
  if (of.size < sizeof of)
    pillion::base::fail(pillion::ErrorCode::Argument,
                        "pillion_arrays has a size of {}; set it to sizeof(pillion_arrays)",
                        of.size);
  if (of.components < 0)
    pillion::base::fail(pillion::ErrorCode::Argument, "pillion_arrays has {} components",
                        of.components);
  if (of.components > 0) given(of.data, "data of the arrays");
  return {{of.data, static_cast<size_t>(of.components)}, of.type, of.strides};
}

std::span<const pillion_view> views_of(int32_t components, const pillion_view* views) {
  if (components < 0)
    pillion::base::fail(pillion::ErrorCode::Argument, "there are {} views of components",
                        components);
  if (components > 0) given(views, "the views");
  return {views, static_cast<size_t>(components)};
}

}  // namespace

extern "C" {

pillion_status pillion_share_box_level(pillion_session* session, const char* field, int32_t level,
                                       int32_t block, const int64_t* lo, const int64_t* hi,
                                       const void* data, pillion_type type,
                                       const int64_t* strides) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, lo, hi, data,
                                             type, strides);
  });
}

pillion_status pillion_share_box_strided(pillion_session* session, const char* field, int32_t block,
                                         const int64_t* lo, const int64_t* hi, const void* data,
                                         pillion_type type, const int64_t* strides) {
  return pillion_share_box_level(session, field, 0, block, lo, hi, data, type, strides);
}

pillion_status pillion_share_box_typed(pillion_session* session, const char* field, int32_t block,
                                       const int64_t* lo, const int64_t* hi, const void* data,
                                       pillion_type type) {
  return pillion_share_box_strided(session, field, block, lo, hi, data, type, nullptr);
}

pillion_status pillion_share_box_level_view(pillion_session* session, const char* field,
                                            int32_t level, int32_t block, int32_t axes,
                                            const int64_t* lo, const int64_t* hi,
                                            const pillion_view* view,
                                            pillion_components components) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, axes, lo, hi,
                                             given(view, "the view"),
                                             components == PILLION_COMPONENTS_LAST);
  });
}

pillion_status pillion_share_box_ghosts(pillion_session* session, const char* field, int32_t level,
                                        int32_t block, const int64_t* lo, const int64_t* hi,
                                        const int64_t* ghosts, const void* data,
                                        pillion_type type) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    given(ghosts, "ghosts");
    side(session).data().sharing().share_ghosts(text(field, "the field"), level, block, lo, hi,
                                                ghosts, data, type);
  });
}

pillion_status pillion_share_box_ghosts_view(pillion_session* session, const char* field,
                                             int32_t level, int32_t block, int32_t axes,
                                             const int64_t* lo, const int64_t* hi,
                                             const int64_t* ghosts, const pillion_view* view,
                                             pillion_components components) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    given(ghosts, "ghosts");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, axes, lo, hi,
                                             given(view, "the view"),
                                             components == PILLION_COMPONENTS_LAST, ghosts);
  });
}

pillion_status pillion_share_box_view(pillion_session* session, const char* field, int32_t block,
                                      int32_t axes, const int64_t* lo, const int64_t* hi,
                                      const pillion_view* view, pillion_components components) {
  return pillion_share_box_level_view(session, field, 0, block, axes, lo, hi, view, components);
}

pillion_status pillion_begin_blocks(pillion_session* session, const char* field) {
  return contained([&] { side(session).data().begin_blocks(text(field, "the field")); });
}

pillion_status pillion_end_blocks(pillion_session* session, const char* field) {
  return contained([&] { side(session).data().end_blocks(text(field, "the field")); });
}

pillion_status pillion_share_points(pillion_session* session, const char* mesh, int32_t block,
                                    const pillion_points* points) {
  return contained([&] {
    side(session).data().share_points(text(mesh, "the mesh"), block, given(points, "the points"));
  });
}

pillion_status pillion_share_cells(pillion_session* session, const char* mesh, int32_t block,
                                   const pillion_cells* cells) {
  return contained([&] {
    side(session).data().share_cells(text(mesh, "the mesh"), block, given(cells, "the cells"));
  });
}

pillion_status pillion_share_values_typed(pillion_session* session, const char* field,
                                          int32_t block, int64_t count, const void* data,
                                          pillion_type type) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Unstructured, text(field, "the field"),
                                               block, count, data, type);
  });
}

pillion_status pillion_share_values_view(pillion_session* session, const char* field, int32_t block,
                                         int64_t count, const pillion_view* view,
                                         pillion_components components) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Unstructured, text(field, "the field"),
                                               block, count, given(view, "the view"),
                                               components == PILLION_COMPONENTS_LAST);
  });
}

pillion_status pillion_share_particles_typed(pillion_session* session, const char* field,
                                             int32_t block, int64_t count, const void* data,
                                             pillion_type type) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Particles, text(field, "the field"), block,
                                               count, data, type);
  });
}

pillion_status pillion_share_elements_typed(pillion_session* session, const char* field,
                                            int32_t block, int64_t count, const void* data,
                                            pillion_type type) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Spectral, text(field, "the field"), block,
                                               count, data, type);
  });
}

pillion_status pillion_share_particles_view(pillion_session* session, const char* field,
                                            int32_t block, int64_t count, const pillion_view* view,
                                            pillion_components components) {
  return guard([&] {
    side(session).data().sharing().share_items(MeshKind::Particles, text(field, "the field"), block,
                                               count, given(view, "the view"),
                                               components == PILLION_COMPONENTS_LAST);
  });
}

pillion_status pillion_share_elements_view(pillion_session* session, const char* field,
                                           int32_t block, int64_t count, const pillion_view* view) {
  return guard([&] {
    side(session).data().sharing().share_elements(text(field, "the field"), block, count,
                                                  given(view, "the view"));
  });
}

pillion_status pillion_share_box_components(pillion_session* session, const char* field,
                                            int32_t level, int32_t block, const int64_t* lo,
                                            const int64_t* hi, const pillion_arrays* arrays) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, lo, hi,
                                             components_of(arrays));
  });
}

pillion_status pillion_share_components(pillion_session* session, const char* field, int32_t block,
                                        int64_t count, const pillion_arrays* arrays) {
  return guard([&] {
    side(session).data().sharing().share_items(text(field, "the field"), block, count,
                                               components_of(arrays));
  });
}

pillion_status pillion_share_box_components_view(pillion_session* session, const char* field,
                                                 int32_t level, int32_t block, int32_t axes,
                                                 const int64_t* lo, const int64_t* hi,
                                                 int32_t components, const pillion_view* views) {
  return guard([&] {
    given(lo, "lo");
    given(hi, "hi");
    side(session).data().sharing().share_box(text(field, "the field"), level, block, axes, lo, hi,
                                             views_of(components, views));
  });
}

pillion_status pillion_share_components_view(pillion_session* session, const char* field,
                                             int32_t block, int64_t count, int32_t components,
                                             const pillion_view* views) {
  return guard([&] {
    side(session).data().sharing().share_items(text(field, "the field"), block, count,
                                               views_of(components, views));
  });
}

pillion_status pillion_allocate(pillion_session* session, const char* field, int32_t block,
                                size_t bytes, int32_t buffers, void** data) {
  return contained([&] {
    given(data, "data") =
        side(session).data().allocate(text(field, "the field"), block, bytes, buffers);
  });
}

pillion_status pillion_swap(pillion_session* session, const char* field, int32_t block,
                            void** data) {
  return contained(
      [&] { given(data, "data") = side(session).data().swap(text(field, "the field"), block); });
}

pillion_status pillion_keep(const pillion_session* session, const void* data, pillion_kept** kept) {
  return contained([&] {
    given(kept, "kept") = nullptr;
    *kept = new pillion_kept{side(session).data().keep(data)};
  });
}

void pillion_release(pillion_kept* kept) { delete kept; }

pillion_status pillion_unshare(pillion_session* session, const char* field, int32_t block) {
  return contained([&] { side(session).data().unshare(text(field, "the field"), block); });
}

}  // extern "C"
