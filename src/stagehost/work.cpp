// SPDX-License-Identifier: BSD-3-Clause
// Inputs and outputs of a stage at work.
#include "stagehost/work.hpp"

#include <algorithm>

#include "comm/agreement.hpp"
#include "layout/boxes.hpp"
#include "layout/copy_region.hpp"
#include "model/coarsen.hpp"
#include "model/geometry.hpp"
#include "stagehost/block_geometry.hpp"
#include "stagehost/cell_mover.hpp"
#include "stagehost/plans.hpp"

namespace pillion::stagehost {

using layout::Kind;
using layout::Request;
using model::MeshBlocks;

namespace {

const MeshBlocks nothing;

const MeshBlocks& blocks_of(const Publication& publication, const std::string& mesh) {
  const auto at = publication.meshes.find(mesh);
  return at == publication.meshes.end() ? nothing : at->second;
}

/// The mesh of an input, coarse if the publication is, and who describes it.
struct Described {
  const model::Catalogue& catalogue;
  const Request& request;
  model::Mesh mesh;
  int peer;
};

pillion_box box_of(const model::Box& box) {
  return {{box.lo[0], box.lo[1], box.lo[2]}, {box.hi[0], box.hi[1], box.hi[2]}};
}

/// Copies of arrays whose components lie apart: a stage reads one array for each field.
class PackedComponents {
 public:
  PackedComponents(const std::vector<model::Block>& blocks, const Request& request,
                   base::ScratchBuffer& room) {
    size_t bytes = 0;
    for (const auto& block : blocks)
      for (const auto& name : request.fields)
        if (const auto& array = block.arrays.at(name); array.is_apart())
          bytes += room_for(array, block.box);
    if (bytes > 0) at_ = room.of(bytes);
  }

  [[nodiscard]] model::Array pack(const model::Array& array, const model::Box& box) {
    if (!array.is_apart()) return array;
    const auto indices = model::box_of(array, box);
    model::Array out = array;
    out.data = at_;
    out.strides = model::packed_strides(indices, array.components);
    out.offsets.clear();
    model::pack(array, indices, at_);
    base::count_copy(base::CopyKind::Local, model::bytes_of(array, box));
    at_ += room_for(array, box);
    return out;
  }

 private:
  /// A multiple of 8, so that the next array is aligned.
  static size_t room_for(const model::Array& array, const model::Box& box) {
    return (model::bytes_of(array, box) + 7) / 8 * 8;
  }

  std::byte* at_ = nullptr;
};

/// Of an unstructured mesh, add_geometry() counts them.
/// A point that blocks share is owned by the block that has the cell above it.
pillion_count count_points(const model::Mesh& mesh, const pillion_block& block) {
  const int64_t n = mesh.order + 1;
  const int64_t points = mesh.axes == 2 ? n * n : n * n * n;
  if (mesh.kind == model::MeshKind::Spectral)
    return {block.cells.owned * points, block.cells.total * points};
  if (mesh.kind == model::MeshKind::Particles || block.cells.total == 0) return block.cells;
  const auto cells = model::cells_of_level(mesh, block.level);
  pillion_count out{1, 1};
  for (int d = 0; d < mesh.axes; ++d) {
    const bool is_last = block.valid.hi[d] == cells[static_cast<size_t>(d)] &&
                         !mesh.periodic[static_cast<size_t>(d)];
    out.owned *= block.valid.hi[d] - block.valid.lo[d] + (is_last ? 1 : 0);
    out.total *= block.allocated.hi[d] - block.allocated.lo[d] + 1;
  }
  return out;
}

/// Describes blocks to a plug-in, with the arrays of the request in its order. `inner` are their
/// boxes without ghost cells, if they may have any; `together` is room for what must be copied.
void describe_blocks(const std::vector<model::Block>& blocks, const std::vector<model::Box>* inner,
                     const Described& how, base::ScratchBuffer& together, Input& input) {
  PackedComponents components(blocks, how.request, together);
  for (const auto& block : blocks) {
    auto& arrays = input.arrays.emplace_back();
    auto& pointers = input.pointers.emplace_back();
    arrays.reserve(how.request.fields.size());
    for (const auto& name : how.request.fields) {
      const auto centering = model::centering_of(how.mesh, how.catalogue.field(name));
      const auto array = components.pack(block.arrays.at(name), block.box);
      arrays.push_back(describe(array, static_cast<pillion_centering>(centering)));
      arrays.back().point_axes = model::point_axes_of(how.mesh, how.catalogue.field(name));
      pointers.push_back(&arrays.back());
    }
    const size_t b = input.blocks.size();
    pillion_block described{};
    described.size = sizeof described;
    described.id =
        how.request.kind == Kind::AsShared ? block.id : model::block_id(how.peer, block.number());
    described.allocated = box_of(block.box);
    described.valid = inner != nullptr ? box_of((*inner)[b]) : described.allocated;
    described.level = block.level;
    described.topology_version = block.topology_version;
    described.geometry_version = block.geometry_version;
    described.cells = {block.owned, block.box.volume()};
    described.points = count_points(how.mesh, described);
    described.array_count = static_cast<int32_t>(arrays.size());
    described.arrays = pointers.data();
    input.blocks.push_back(described);
  }
}

/// The values of a block in a part of it, as a view.
model::Array part_of(const model::Array& array, const model::Box& block, const model::Box& part) {
  auto view = array;
  view.data = layout::address(layout::source_of(array, block), part.lo, model::size_of(array.type));
  if (view.has_extents)  // points: one more than cells
    for (int d = 0; d < 3; ++d)
      view.extents[static_cast<size_t>(d)] += part.extent(d) - block.extent(d);
  return view;
}

/// The blocks of two lists, cut where either is: parts that have the fields of both, as views.
std::vector<model::Block> common_refinement(const std::vector<model::Block>& a,
                                            const std::vector<model::Block>& b) {
  std::vector<model::Block> out;
  const auto add = [&](const model::Block& from, model::Block& to) {
    for (const auto& [name, array] : from.arrays)
      to.arrays.emplace(name, part_of(array, from.box, to.box));
  };
  std::set<int32_t> levels;
  for (const auto& block : a) levels.insert(block.level);
  for (const int32_t level : levels) {
    std::array<std::vector<const model::Block*>, 2> of_level;
    std::array<std::vector<model::Box>, 2> boxes;
    for (size_t n = 0; n < 2; ++n)
      for (const auto& block : n == 0 ? a : b)
        if (block.level == level) {
          of_level[n].push_back(&block);
          boxes[n].push_back(block.box);
        }
    for (const auto& [p, q, region] : layout::overlaps(boxes[0], boxes[1])) {
      auto& part = out.emplace_back(
          model::Block{.box = region, .owned = region.volume(), .arrays = {}, .level = level});
      add(*of_level[0][p], part);
      add(*of_level[1][q], part);
    }
  }
  return out;
}

int64_t cells_of(const std::vector<model::Block>& blocks) {
  int64_t cells = 0;
  for (const auto& block : blocks) cells += block.box.volume();
  return cells;
}

/// Blocks on which all fields of a request are, where the fields are cut differently. Points, mask
/// and weight are those of the first field's blocks.
std::vector<model::Block> refined(const std::vector<model::Block>& blocks, const Described& how) {
  const auto with = model::geometry_fields(how.mesh);
  const std::set<std::string> geometry(with.begin(), with.end());
  std::vector<model::Block> out;
  for (const auto& name : how.request.fields) {
    const bool is_first = name == how.request.fields.front();
    std::vector<model::Block> having;
    for (const auto& block : blocks)
      if (block.arrays.contains(name)) {
        having.push_back(block);
        std::erase_if(having.back().arrays, [&](const auto& array) {
          return array.first != name && !(is_first && geometry.contains(array.first));
        });
      }
    auto both = is_first ? having : common_refinement(out, having);
    if (cells_of(both) != cells_of(having) || (!is_first && cells_of(both) != cells_of(out)))
      base::fail(ErrorCode::Sharing,
                 "fields '{}' and '{}' of mesh '{}' came on different cells; a stage takes them "
                 "together only where a rank has both",
                 how.request.fields.front(), name, how.mesh.name);
    out = std::move(both);
  }
  for (size_t b = 0; b < out.size(); ++b)
    out[b].id = model::block_id(how.peer, static_cast<int32_t>(b));
  return out;
}

/// Blocks that have the fields of a request. Others, that stages have produced, may have none.
std::vector<model::Block> blocks_for(const std::vector<model::Block>& blocks, const Described& how,
                                     Input& input) {
  const Request& request = how.request;
  std::vector<model::Block> having;
  bool is_cut_alike = true;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const auto has = [&](const std::string& name) { return blocks[b].arrays.contains(name); };
    if (std::none_of(request.fields.begin(), request.fields.end(), has)) continue;
    is_cut_alike = is_cut_alike && std::all_of(request.fields.begin(), request.fields.end(), has);
    having.push_back(blocks[b]);
    input.places.push_back(b);
  }
  if (is_cut_alike) return having;
  if (!model::has_boxes(how.mesh.kind)) {
    const auto lacking = [&](const auto& block) {
      return std::find_if_not(request.fields.begin(), request.fields.end(),
                              [&](const auto& name) { return block.arrays.contains(name); });
    };
    for (const auto& block : having)
      if (lacking(block) != request.fields.end())
        base::fail(
            ErrorCode::Sharing,
            "block {} of mesh '{}' came without field '{}': fields of one input as shared must "
            "be on the same blocks",
            block.number(), how.mesh.name, *lacking(block));
  }
  input.places.clear();
  return refined(having, how);
}

/// What finer blocks cover, for a mesh with levels.
void add_flags(const std::vector<model::Block>& blocks, const Described& how,
               const ExecutionContext& context, Input& input) {
  if (how.mesh.levels() == 1) return;
  input.flags = context.plans->coverage().of(blocks, how.mesh, how.request.fields.front(), context);
  input.flag_arrays.resize(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (!input.flags[b]) continue;
    const model::Array array{input.flags[b]->data(), model::ElementType::Uint8, 1,
                             model::packed_strides(blocks[b].box, 1)};
    input.flag_arrays[b] = describe(array, PILLION_CELL);
    input.blocks[b].flags = &input.flag_arrays[b];
  }
}

/// The blocks in the layout that a request asks for, if they came in it. The same on every peer,
/// for no peer can carry anything alone.
const layout::InLayout* find_in_layout(const Request& request, const std::string& mesh,
                                       const Publication& publication) {
  const auto at = publication.meshes.find(mesh);
  if (at == publication.meshes.end() || !at->second.in_layout) return nullptr;
  const auto& in_layout = *at->second.in_layout;
  if (!layout::same_layout(in_layout.request, request)) return nullptr;
  const auto& came = in_layout.request.fields;
  const bool all = std::all_of(request.fields.begin(), request.fields.end(), [&](const auto& f) {
    return std::find(came.begin(), came.end(), f) != came.end();
  });
  return all ? &in_layout : nullptr;
}

void check_coverage(const layout::InLayout& arrived, const Request& request,
                    const std::string& mesh) {
  if (!layout::is_division(request.kind)) return;
  for (const auto& name : request.fields) {
    const auto at = arrived.came.find(name);
    layout::check_coverage(name, mesh, arrived.cells, at == arrived.came.end() ? 0 : at->second);
  }
}

}  // namespace

const pillion_domain& domain_of(const Publication& publication, const std::string& mesh) {
  const auto at = publication.domains.find(mesh);
  if (at == publication.domains.end())
    base::fail(ErrorCode::Sharing,
               "mesh '{}' has no domain; call pillion_set_domain before the first step", mesh);
  return at->second;
}

namespace {

/// The mesh with the coordinates that the program has set, which came from another rank.
model::Mesh located(const model::Mesh& mesh, const Publication& publication) {
  const auto at = publication.coordinates.find(mesh.level_of.empty() ? mesh.name : mesh.level_of);
  if (mesh.kind != model::MeshKind::Rectilinear || at == publication.coordinates.end()) return mesh;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto axis = static_cast<size_t>(a);
    const auto fault = at->second.size() != static_cast<size_t>(mesh.axes)
                           ? fmt::format("there are {} axes", at->second.size())
                           : model::fault_of_faces(mesh, a, at->second[axis]);
    if (!fault.empty())
      base::fail(ErrorCode::Sharing, "the coordinates of mesh '{}' do not fit: {}", mesh.name,
                 fault);
  }
  return model::with_faces(mesh, at->second);
}

}  // namespace

const pillion_mesh& mesh_of(pillion_work& work, const std::string& name) {
  const auto known = work.meshes.find(name);
  if (known != work.meshes.end()) return known->second;
  const auto* described = work.context->catalogue->find_mesh(name);
  if (described == nullptr)
    base::fail(ErrorCode::Stage, "a stage asked for mesh '{}', and there is none", name);
  const int coarsening = work.publication->coarsening;
  auto mesh = model::coarse_mesh(located(*described, *work.publication), coarsening);
  pillion_mesh out{};
  out.size = sizeof out;
  out.name = described->name.c_str();
  out.units = described->units.c_str();
  out.kind = static_cast<pillion_mesh_kind>(mesh.kind);
  out.axes = mesh.axes;
  out.order = mesh.order;
  out.coarsening = static_cast<int32_t>(model::coarsening_factor(*described, coarsening));
  out.metric = static_cast<pillion_metric>(mesh.metric);
  out.radius = mesh.radius;
  out.levels = mesh.levels();
  out.is_partial = mesh.is_partial ? 1 : 0;
  if (!described->of.empty()) out.of = described->of.c_str();
  if (!described->patches.empty()) {
    auto& patches = work.patches[name];
    for (const auto& patch : described->patches) patches.push_back(patch.c_str());
    out.patches = patches.data();
    out.patch_count = static_cast<int32_t>(patches.size());
  }
  if (mesh.levels() > 1) {
    auto& ratios = work.ratios[name];
    for (const auto& ratio : mesh.ratios)
      for (const int64_t r : ratio) ratios.push_back(static_cast<int32_t>(r));
    out.ratios = ratios.data();
  }
  const auto domain = work.publication->domains.find(name);
  if (model::has_boxes(mesh.kind)) {
    auto& faces = work.faces[name] = std::move(mesh.faces);
    for (size_t d = 0; d < faces.size(); ++d) out.coordinates[d] = faces[d].data();
    out.has_domain = mesh.kind == model::MeshKind::Uniform || !faces.empty() ? 1 : 0;
    for (size_t d = 0; d < 3; ++d) {
      out.cells[d] = mesh.cells[d];
      out.origin[d] = mesh.origin[d];
      out.length[d] = mesh.length[d];
      out.end[d] = mesh.origin[d] + mesh.length[d];
      out.periodic[d] = mesh.periodic[d] ? 1 : 0;
    }
  } else if (domain != work.publication->domains.end()) {
    const pillion_domain& given = domain->second;
    out.has_domain = 1;
    out.axes = given.dimensions == 2 ? 2 : 3;
    for (size_t d = 0; d < 3; ++d) {
      out.origin[d] = given.lo[d];
      out.length[d] = given.hi[d] - given.lo[d];
      out.end[d] = given.hi[d];
      out.tilt[d] = given.tilt[d];
      out.periodic[d] = given.periodic[d];
    }
  }
  return work.meshes.emplace(name, out).first->second;
}

Input bring(const Request& request, const Publication& publication, const ExecutionContext& context,
            Movers& movers) {
  const auto& catalogue = *context.catalogue;
  const std::string mesh = layout::mesh_of(request, catalogue);
  const Described how{catalogue, request,
                      model::coarse_mesh(catalogue.mesh(mesh), publication.coarsening),
                      context.peers->rank()};
  const MeshBlocks& mine = blocks_of(publication, mesh);
  Input input;
  if (request.kind == Kind::AsShared) {
    const auto blocks = blocks_for(mine.blocks, how, input);
    describe_blocks(blocks, nullptr, how, movers.together, input);
    add_flags(blocks, how, context, input);
    add_mask(blocks, how.mesh, input);
    add_geometry(blocks, how.mesh, movers.checked, input);
    add_weight(blocks, how.mesh, input);
    return input;
  }
  if (how.mesh.kind == model::MeshKind::Unstructured) {
    const auto blocks = blocks_for(mine.blocks, how, input);
    input.places.clear();
    const auto& moved = movers.unstructured.bring(blocks, request, how.mesh, context);
    describe_blocks(moved, nullptr, how, movers.together, input);
    add_geometry(moved, how.mesh, movers.checked, input);
    return input;
  }
  if (const auto* arrived = find_in_layout(request, mesh, publication)) {
    check_coverage(*arrived, request, mesh);
    describe_blocks(arrived->blocks, arrived->inner.empty() ? nullptr : &arrived->inner, how,
                    movers.together, input);
    return input;
  }
  if (layout::is_division(request.kind)) {
    movers.cells.carry(request, mine, publication.coarsening, context);
    if (how.mesh.kind != model::MeshKind::Curvilinear) {
      describe_blocks(movers.cells.blocks(), &movers.cells.inner(), how, movers.together, input);
      return input;
    }
    input.moved = movers.cells.blocks();
    movers.points.bring(how.mesh, mine, request.fields.front(), input.moved, context);
    describe_blocks(input.moved, &movers.cells.inner(), how, movers.together, input);
    add_geometry(input.moved, how.mesh, movers.checked, input);
    return input;
  }
  const int ranks = context.peers->size();
  const auto moves = redistribution::plan_particles(
      mine, request,
      request.kind == Kind::Spatial ? domain_of(publication, mesh) : pillion_domain{}, ranks);
  context.fence->before_collective();
  movers.particles.plan(*context.peers, moves);
  context.fence->before_collective();
  const auto moved = movers.particles.exchange(request, catalogue);
  describe_blocks(moved.blocks, nullptr, how, movers.together, input);
  return input;
}

namespace {

template <class Values>
auto& checked(Values& values, int32_t index, const char* what) {
  if (index < 0 || static_cast<size_t>(index) >= values.size())
    base::fail(ErrorCode::Stage, "a stage asked for {} {} of {}", what, index, values.size());
  return values[static_cast<size_t>(index)];
}

/// The id of a block that the stage makes, or that lies where Pillion has put it.
int64_t made_id(const pillion_work& work, int32_t number) {
  const auto& context = *work.context;
  return model::block_id(context.peers->rank(), number,
                         static_cast<int>(context.origin.number) + 1);
}

/// The points of the last block of a mesh, which is a block that has been moved, without its ghost
/// cells.
void add_points(const model::Block& moved, MeshBlocks& mesh) {
  auto& block = mesh.blocks.back();
  for (const auto& [name, array] : moved.arrays)
    if (array.has_extents) block.arrays[name] = part_of(array, moved.box, block.box);
}

/// The block of the mesh on which an output lies: as the input's, without its ghost cells.
model::Block& target_of(const pillion_work& work, MeshBlocks& mesh, Input& input, int32_t index) {
  if (!input.places.empty()) return mesh.blocks[input.places[static_cast<size_t>(index)]];
  if (input.boxes.empty())
    for (size_t b = 0; b < mesh.blocks.size(); ++b)
      input.boxes[{mesh.blocks[b].level, mesh.blocks[b].box.lo, mesh.blocks[b].box.hi}] = b;
  const pillion_block& block = input.blocks[static_cast<size_t>(index)];
  model::Box inner;
  std::copy_n(block.valid.lo, 3, inner.lo.begin());
  std::copy_n(block.valid.hi, 3, inner.hi.begin());
  const auto [at, is_new] =
      input.boxes.try_emplace({block.level, inner.lo, inner.hi}, mesh.blocks.size());
  const auto number = static_cast<int32_t>(block.id & 0x7fffffff);
  if (is_new) {
    mesh.blocks.push_back({made_id(work, number), inner, inner.volume(), {}, block.level});
    if (!input.moved.empty()) add_points(input.moved[static_cast<size_t>(index)], mesh);
  }
  return mesh.blocks[at->second];
}

/// Not cleared: the stage writes all of it.
void* add_array(MeshBlocks& mesh, model::Block& block, const model::Field& field,
                const model::Catalogue& catalogue) {
  const int32_t values = model::values_of(catalogue.mesh(field.mesh), field);
  const auto& of = catalogue.mesh(field.mesh);
  auto& array = block.arrays[field.name];
  array = {.type = field.type, .components = values, .centering = model::centering_of(of, field)};
  if (model::has_points(of.kind)) {
    const bool at_points = array.centering == model::Centering::Point;
    array.extents = at_points ? geometry_of(block, model::coordinates_of(of.name)).extents
                              : std::array<int64_t, 3>{block.box.extent(0), 1, 1};
    array.has_extents = true;
  } else {
    model::set_point_extents(model::point_axes_of(of, field), block.box, array);
  }
  array.strides = model::packed_strides(model::box_of(array, block.box), values);
  std::shared_ptr<std::byte[]> memory(new std::byte[model::bytes_of(array, block.box) + 1]);
  array.data = memory.get();
  mesh.keep.push_back(memory);
  return memory.get();
}

}  // namespace

void* produce(pillion_work& work, int32_t output, int32_t input, int32_t index) {
  const Output& wanted = checked(work.setup->outputs, output, "output");
  auto& from = checked(work.inputs, input, "input");
  (void)checked(from.blocks, index, "block");
  const Request& request = work.setup->inputs[static_cast<size_t>(input)];
  if (wanted.of_boxes || (wanted.input < 0 && request.kind != Kind::AsShared))
    base::fail(
        ErrorCode::Stage,
        "field '{}' can only be produced on blocks as they are shared, not in another layout",
        wanted.name);
  if (wanted.input >= 0 && wanted.input != input)
    base::fail(ErrorCode::Stage, "field '{}' can only be produced on input {}, not on input {}",
               wanted.name, wanted.input, input);
  const auto& field = work.context->catalogue->field(wanted.name);
  auto& mesh = work.publication->meshes[field.mesh];
  work.produced[output].insert(index);
  return add_array(mesh, target_of(work, mesh, from, index), field, *work.context->catalogue);
}

void* produce_box(pillion_work& work, int32_t output, const model::Box& box) {
  const Output& wanted = checked(work.setup->outputs, output, "output");
  const auto& field = work.context->catalogue->field(wanted.name);
  const auto cells =
      model::coarse_mesh(work.context->catalogue->mesh(field.mesh), work.publication->coarsening)
          .cells;
  bool fits = wanted.of_boxes;
  for (size_t d = 0; d < 3; ++d)
    fits = fits && 0 <= box.lo[d] && box.lo[d] <= box.hi[d] && box.hi[d] <= cells[d];
  if (!fits)
    base::fail(ErrorCode::Stage, "field '{}' cannot be produced on box {} of mesh '{}'",
               wanted.name, model::to_string(box, 3), field.mesh);
  auto& mesh = work.publication->meshes[field.mesh];
  const auto number = static_cast<int32_t>(mesh.blocks.size());
  mesh.blocks.push_back({made_id(work, number), box, box.volume(), {}});
  return add_array(mesh, mesh.blocks.back(), field, *work.context->catalogue);
}

void check_outputs(const pillion_work& work) {
  for (size_t o = 0; o < work.setup->outputs.size(); ++o) {
    const auto& output = work.setup->outputs[o];
    if (output.of_boxes) continue;  // a stage that requests its cells checks whether they exist
    const auto produced = work.produced.find(static_cast<int32_t>(o));
    const size_t there = produced == work.produced.end() ? 0 : produced->second.size();
    size_t wanted = 0;
    if (output.input >= 0) {
      wanted = work.inputs[static_cast<size_t>(output.input)].blocks.size();
    } else {
      const auto& mesh = work.context->catalogue->field(output.like).mesh;
      const auto& inputs = work.setup->inputs;
      const auto reads = std::find_if(inputs.begin(), inputs.end(), [&](const Request& request) {
        return request.kind == Kind::AsShared &&
               std::find(request.fields.begin(), request.fields.end(), output.like) !=
                   request.fields.end();
      });
      if (reads != inputs.end())
        wanted = work.inputs[static_cast<size_t>(reads - inputs.begin())].blocks.size();
      else
        for (const auto& block : blocks_of(*work.publication, mesh).blocks)
          wanted += block.arrays.contains(output.like) ? 1 : 0;
    }
    if (there != wanted)
      base::fail(ErrorCode::Stage, "field '{}' was produced on {} blocks of {}", output.name, there,
                 wanted);
  }
}

}  // namespace pillion::stagehost
