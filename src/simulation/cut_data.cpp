// SPDX-License-Identifier: BSD-3-Clause
// Fields on their way out of the simulation.
#include "simulation/cut_data.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "model/coarsen.hpp"
#include "run/run.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

using transport::Meshes;
using transport::PublicationHeader;

namespace {

/// Adds arrays to the blocks of a mesh that they are on, or to new ones like these.
class BlockIndex {
 public:
  explicit BlockIndex(model::MeshBlocks& mesh) : mesh_(mesh) {
    for (size_t b = 0; b < mesh.blocks.size(); ++b) places_.emplace(key_of(mesh.blocks[b]), b);
  }

  void add(const model::Block& like, const std::string& name, const model::Array& array) {
    const auto [at, is_new] = places_.try_emplace(key_of(like), mesh_.blocks.size());
    if (is_new) {
      mesh_.blocks.push_back(like);
      mesh_.blocks.back().arrays.clear();
    }
    mesh_.blocks[at->second].arrays[name] = array;
  }

 private:
  using Key = std::tuple<int64_t, std::array<int64_t, 3>, std::array<int64_t, 3>>;
  static Key key_of(const model::Block& block) { return {block.id, block.box.lo, block.box.hi}; }

  model::MeshBlocks& mesh_;
  std::map<Key, size_t> places_;
};

}  // namespace

size_t CutData::bytes_of(const Meshes& meshes) {
  size_t bytes = 0;
  for (const auto& [name, mesh] : meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays) bytes += model::bytes_of(array, block.box);
  return bytes;
}

// Particles are chosen by their id, where they have one, so that they are the same at every step.
void CutData::add_ids(std::set<std::string>& fields) const {
  const auto& catalogue = run_.configuration.catalogue;
  const auto* id = catalogue.find_field("id");
  if (id == nullptr || !sharing_.has("id")) return;
  const bool wanted = std::any_of(fields.begin(), fields.end(), [&](const std::string& name) {
    return catalogue.field(name).mesh == id->mesh;
  });
  if (wanted) fields.insert("id");
}

Meshes CutData::of(const PublicationHeader& head, const std::vector<size_t>& due,
                   const StageOutputs& left) const {
  const auto& catalogue = run_.configuration.catalogue;
  std::set<std::string> shared;
  for (const size_t a : due)
    for (const auto& name : cut_fields_[a].fields)
      if (catalogue.find_field(name) != nullptr) shared.insert(name);
  if (head.coarsening > 0) add_ids(shared);
  Meshes meshes;
  for (auto& [mesh, blocks] : sharing_.publication(shared, head.step, head.time).meshes)
    meshes[mesh] = std::move(blocks);
  for (const size_t a : due)
    for (const auto& [mesh, blocks] : left[a].meshes) {
      std::optional<BlockIndex> index;
      for (const auto& block : blocks.blocks)
        for (const auto& [field, array] : block.arrays)
          if (cut_fields_[a].fields.contains(field) && !shared.contains(field)) {
            meshes[mesh].kind = catalogue.mesh(mesh).kind;
            if (!index) index.emplace(meshes[mesh]);
            index->add(block, run_.configuration.analyses[a].name + "/" + field, array);
          }
    }
  return meshes;
}

Meshes CutData::gather(PublicationHeader& head, const std::vector<size_t>& due,
                       const StageOutputs& left) const {
  try {
    return coarsened(of(head, due, left), head.coarsening);
  } catch (const Error& e) {
    std::vector<size_t> own;
    std::copy_if(due.begin(), due.end(), std::back_inserter(own),
                 [&](size_t a) { return a < own_; });
    if (own.size() == due.size()) throw;
    run_.log.warn("rank {} cannot give an attached job what it needs at step {}: {}",
                  run_.side.rank(), head.step, e.what());
    for (auto& d : head.due) d.unusable = static_cast<size_t>(d.analysis) >= own_ ? 1 : 0;
    return coarsened(of(head, own, left), head.coarsening);
  }
}

Meshes CutData::coarsened(Meshes meshes, int32_t level) const {
  if (level == 0) return meshes;
  Meshes out;
  for (const auto& [name, blocks] : meshes) {
    const auto& catalogue = run_.configuration.catalogue;
    const auto* key = catalogue.find_field("id");
    out[name] = model::coarsen(blocks, catalogue.mesh(name), level,
                               key != nullptr && key->mesh == name ? "id" : "");
  }
  return out;
}

}  // namespace pillion::simulation
