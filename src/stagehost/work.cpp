// SPDX-License-Identifier: BSD-3-Clause
// Inputs and outputs of a stage at work.
#include "stagehost/work.hpp"

#include <algorithm>

#include "model/coarsen.hpp"

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

/// Describes blocks to a plug-in, with the arrays of the request in its order.
void describe(const std::vector<model::Block>& blocks, const Request& request, Input& input) {
  for (const auto& block : blocks) {
    auto& arrays = input.arrays.emplace_back();
    for (const auto& name : request.fields) {
      const auto& array = block.arrays.at(name);
      arrays.push_back({array.data,
                        static_cast<pillion_type>(array.type),
                        array.components,
                        {array.strides[0], array.strides[1], array.strides[2], array.strides[3]}});
    }
    pillion_block described{};
    for (int d = 0; d < 3; ++d) {
      described.lo[d] = block.box.lo[d];
      described.hi[d] = block.box.hi[d];
    }
    described.count = block.box.volume();
    described.owned = block.owned;
    described.number = block.number;
    described.array_count = static_cast<int32_t>(arrays.size());
    described.arrays = arrays.data();
    std::copy_n(described.lo, 3, described.inner_lo);
    std::copy_n(described.hi, 3, described.inner_hi);
    input.blocks.push_back(described);
  }
}

/// Blocks that have the fields of a request. Others, that stages have produced, may have none.
void describe_shared(const std::vector<model::Block>& blocks, const Request& request,
                     const std::string& mesh, Input& input) {
  std::vector<model::Block> having;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const auto has = [&](const std::string& name) { return blocks[b].arrays.contains(name); };
    if (std::none_of(request.fields.begin(), request.fields.end(), has)) continue;
    const auto lacking = std::find_if_not(request.fields.begin(), request.fields.end(), has);
    if (lacking != request.fields.end())
      base::fail(
          ErrorCode::Sharing,
          "block {} of mesh '{}' came without field '{}': fields of one input as shared must "
          "be on the same blocks",
          blocks[b].number, mesh, *lacking);
    having.push_back(blocks[b]);
    input.places.push_back(b);
  }
  describe(having, request, input);
}

void describe_inner(const std::vector<model::Box>& inner, Input& input) {
  for (size_t b = 0; b < inner.size(); ++b) {
    std::copy_n(inner[b].lo.begin(), 3, input.blocks[b].inner_lo);
    std::copy_n(inner[b].hi.begin(), 3, input.blocks[b].inner_hi);
  }
}

void describe(const Carriage& carriage, const Request& request, Input& input) {
  describe(carriage.blocks(), request, input);
  describe_inner(carriage.inner(), input);
}

void describe(const layout::Arrived& arrived, const Request& request, Input& input) {
  describe(arrived.blocks, request, input);
  describe_inner(arrived.inner, input);
}

/// What came in the layout that a request asks for. The same on every peer, for no peer can carry
/// anything alone.
const layout::Arrived* find_arrived(const Request& request, const std::string& mesh,
                                    const Publication& publication) {
  const auto at = publication.arrived.find(mesh);
  if (at == publication.arrived.end() || !layout::same_layout(at->second.request, request))
    return nullptr;
  const auto& came = at->second.request.fields;
  const bool all = std::all_of(request.fields.begin(), request.fields.end(), [&](const auto& f) {
    return std::find(came.begin(), came.end(), f) != came.end();
  });
  return all ? &at->second : nullptr;
}

void check_coverage(const layout::Arrived& arrived, const Request& request,
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

Input bring(const Request& request, const Publication& publication,
            const Circumstances& circumstances, Movers& movers) {
  const std::string mesh = layout::mesh_of(request, *circumstances.catalogue);
  const MeshBlocks& mine = blocks_of(publication, mesh);
  Input input;
  if (request.kind == Kind::AsShared) {
    describe_shared(mine.blocks, request, mesh, input);
    return input;
  }
  if (const auto* arrived = find_arrived(request, mesh, publication)) {
    check_coverage(*arrived, request, mesh);
    describe(*arrived, request, input);
    return input;
  }
  if (layout::is_division(request.kind)) {
    movers.cells.carry(request, mine, publication.coarsening, circumstances);
    describe(movers.cells, request, input);
    return input;
  }
  const int ranks = circumstances.peers->size();
  const auto moves =
      request.kind == Kind::ByKey
          ? layout::ParticleMoves::by_key(mine, request, ranks)
          : layout::ParticleMoves::spatial(mine, request, domain_of(publication, mesh), ranks);
  circumstances.fence->before_collective();
  movers.particles.plan(*circumstances.peers, moves);
  circumstances.fence->before_collective();
  const auto moved = movers.particles.carry(request, *circumstances.catalogue);
  describe(moved.blocks, request, input);
  return input;
}

namespace {

template <class T>
T& checked(std::vector<T>& values, int32_t index, const char* what) {
  if (index < 0 || static_cast<size_t>(index) >= values.size())
    base::fail(ErrorCode::Stage, "a stage asked for {} {} of {}", what, index, values.size());
  return values[static_cast<size_t>(index)];
}

/// The block of the mesh on which an output lies: as the input's, without its ghost cells.
model::Block& target_of(MeshBlocks& mesh, Input& input, int32_t index) {
  if (!input.places.empty()) return mesh.blocks[input.places[static_cast<size_t>(index)]];
  if (input.boxes.empty())
    for (size_t b = 0; b < mesh.blocks.size(); ++b)
      input.boxes[{mesh.blocks[b].box.lo, mesh.blocks[b].box.hi}] = b;
  const pillion_block& block = input.blocks[static_cast<size_t>(index)];
  model::Box inner;
  std::copy_n(block.inner_lo, 3, inner.lo.begin());
  std::copy_n(block.inner_hi, 3, inner.hi.begin());
  const auto [at, is_new] = input.boxes.try_emplace({inner.lo, inner.hi}, mesh.blocks.size());
  if (is_new) mesh.blocks.push_back({block.number, inner, inner.volume(), {}});
  return mesh.blocks[at->second];
}

/// Not cleared: the stage writes all of it.
void* add_array(MeshBlocks& mesh, model::Block& block, const model::Field& field,
                const model::Catalogue& catalogue) {
  const int32_t values = model::values_of(catalogue.mesh(field.mesh), field);
  const auto bytes = model::size_of(field.type) * static_cast<size_t>(values) *
                     static_cast<size_t>(block.box.volume());
  std::shared_ptr<std::byte[]> memory(new std::byte[bytes + 1]);
  block.arrays[field.name] = {memory.get(), field.type, values,
                              model::packed_strides(block.box, values)};
  mesh.keep.push_back(memory);
  return memory.get();
}

}  // namespace

void* produce(pillion_work& work, int32_t output, int32_t input, int32_t index) {
  auto outputs = work.setup->outputs;
  const Output& wanted = checked(outputs, output, "output");
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
  const auto& field = work.circumstances->catalogue->field(wanted.name);
  auto& mesh = work.publication->meshes[field.mesh];
  work.produced[output].insert(index);
  return add_array(mesh, target_of(mesh, from, index), field, *work.circumstances->catalogue);
}

void* produce_box(pillion_work& work, int32_t output, const model::Box& box) {
  auto outputs = work.setup->outputs;
  const Output& wanted = checked(outputs, output, "output");
  const auto& field = work.circumstances->catalogue->field(wanted.name);
  const auto cells = model::coarse_mesh(work.circumstances->catalogue->mesh(field.mesh),
                                        work.publication->coarsening)
                         .cells;
  bool fits = wanted.of_boxes;
  for (size_t d = 0; d < 3; ++d)
    fits = fits && 0 <= box.lo[d] && box.lo[d] <= box.hi[d] && box.hi[d] <= cells[d];
  if (!fits)
    base::fail(ErrorCode::Stage, "field '{}' cannot be produced on box {} of mesh '{}'",
               wanted.name, model::to_string(box, 3), field.mesh);
  auto& mesh = work.publication->meshes[field.mesh];
  const auto number = static_cast<int32_t>(mesh.blocks.size());
  mesh.blocks.push_back({number, box, box.volume(), {}});
  return add_array(mesh, mesh.blocks.back(), field, *work.circumstances->catalogue);
}

void check_outputs(const pillion_work& work) {
  for (size_t o = 0; o < work.setup->outputs.size(); ++o) {
    const auto& output = work.setup->outputs[o];
    if (output.of_boxes) continue;  // whoever wants its cells sees whether they are there
    const auto produced = work.produced.find(static_cast<int32_t>(o));
    const size_t there = produced == work.produced.end() ? 0 : produced->second.size();
    size_t wanted = 0;
    if (output.input >= 0) {
      wanted = work.inputs[static_cast<size_t>(output.input)].blocks.size();
    } else {
      const auto& mesh = work.circumstances->catalogue->field(output.like).mesh;
      for (const auto& block : blocks_of(*work.publication, mesh).blocks)
        wanted += block.arrays.contains(output.like) ? 1 : 0;
    }
    if (there != wanted)
      base::fail(ErrorCode::Stage, "field '{}' was produced on {} blocks of {}", output.name, there,
                 wanted);
  }
}

}  // namespace pillion::stagehost
