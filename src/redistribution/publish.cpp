// SPDX-License-Identifier: BSD-3-Clause
// Everything follows from this rank's own blocks: the plans are those of layout, as in an exchange
// among peers.
#include "redistribution/publish.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "layout/particle_moves.hpp"
#include "model/coarsen.hpp"
#include "redistribution/balance.hpp"
#include "redistribution/message_layout.hpp"
#include "redistribution/plan.hpp"

namespace pillion::redistribution {

using Layout = layout::Kind;
using model::Block;
using model::Box;
using model::MeshBlocks;
using model::MeshKind;

namespace {

std::vector<FieldType> fields_of(const Block& block) {
  std::vector<FieldType> fields;
  for (const auto& [name, array] : block.arrays) fields.push_back(type_of(name, array));
  return fields;
}

/// Blocks that have the same fields: their indices, by fields.
using Groups = std::vector<std::pair<std::vector<FieldType>, std::vector<size_t>>>;

Groups group(const std::vector<Block>& blocks) {
  Groups groups;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].box.volume() == 0) continue;
    auto fields = fields_of(blocks[b]);
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& g) { return g.first == fields; });
    if (at != groups.end()) at->second.push_back(b);
    else groups.push_back({std::move(fields), {b}});
  }
  return groups;
}

/// Of values with a version, or with 0, that go to a receiver.
Keeping keeping_of(const SentByReceiver* sent, int receiver, const std::string& field,
                   int64_t block, int64_t version) {
  if (version == 0) return {};
  const auto of_receiver = sent->find(receiver);
  const bool has_it = of_receiver != sent->end() && of_receiver->second.has(field, block, version);
  return {version, has_it ? 1 : 0};
}

/// Analyses may want a mesh in several layouts, and in each of them other constant fields.
std::string name_of_kept(layout::Request route, const RegionLayout& regions) {
  route.fields.clear();
  base::ByteWriter out;
  out.put(route);
  out.put(regions.constants);
  const auto bytes = out.take();
  return regions.mesh + "/" +
         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Changes when the regions do, or the values in them.
int64_t version_of(const std::vector<Block>& all, const std::vector<size_t>& blocks,
                   const RegionLayout& regions) {
  base::ByteWriter out;
  for (const auto& region : regions.regions) out.put(region);
  for (const size_t b : blocks) {
    out.put(all[b].id);
    for (const auto& field : regions.constants) out.put(all[b].arrays.at(field.name).version);
  }
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : out.take())
    hash = (hash ^ static_cast<uint64_t>(byte)) * uint64_t{0x100000001b3};
  return static_cast<int64_t>(hash | 1);
}

}  // namespace

/// Regions of blocks that have the same fields.
struct SendPlan::Regions {
  Regions(const MeshBlocks& mesh, const std::vector<size_t>& blocks,
          const std::vector<FieldType>& types, layout::Moves planned, size_t at);
  void pack(std::byte* to);

  std::vector<const model::Array*> arrays;  ///< by field, then by block
  std::vector<FieldArrays> fields;
  layout::Moves moves;
  size_t offset;
};

/// What goes to one receiver.
struct SendPlan::Outgoing {
  struct Particles {
    const layout::ParticleMoves* moves;
    size_t offset;
  };
  MessageLayout layout;
  base::Bytes layout_bytes;
  std::vector<Regions> regions;
  std::vector<Particles> particles;
  size_t size = 0;  ///< of values
};

struct SendPlan::Messages {
  std::map<int, Outgoing> outgoing;  ///< by receiver
  std::deque<layout::ParticleMoves> particles;
};

SendPlan::Regions::Regions(const MeshBlocks& mesh, const std::vector<size_t>& blocks,
                           const std::vector<FieldType>& types, layout::Moves planned, size_t at)
    : moves(std::move(planned)), offset(at) {
  for (const auto& type : types) {
    auto& field = fields.emplace_back(FieldArrays{type.components, model::size_of(type.type)});
    for (const size_t b : blocks) {
      const auto& array = mesh.blocks[b].arrays.at(type.name);
      arrays.push_back(&array);
      field.from.push_back(layout::source_of(array, mesh.blocks[b].box));
    }
  }
}

// The simulation may have shared other memory since the last time.
void SendPlan::Regions::pack(std::byte* to) {
  auto array = arrays.begin();
  for (auto& field : fields)
    for (auto& source : field.from) {
      source.data = static_cast<const std::byte*>((*array)->data);
      source.offsets = (*array++)->offsets;
    }
  for (const auto& move : moves.moves) to = redistribution::pack(move, fields, to);
}

SendPlan::SendPlan(Meshes& meshes, int coarsening, const Destination& to)
    : messages_(std::make_unique<Messages>()) {
  const auto kind_of = [&](const std::string& name) {
    const auto route = to.routes->find(name);
    return route == to.routes->end() ? Layout::AsShared : route->second.kind;
  };
  const auto take = [&](const std::string& name, MeshBlocks& mesh) {
    meshes_[name] = std::move(mesh);
    mesh = {.blocks = {}, .keep = {}, .kind = meshes_[name].kind};
  };
  // Whatever the meshes are called, messages hold blocks first, then regions, then particles.
  for (auto& [name, mesh] : meshes)
    if (model::can_be_divided(to.catalogue->mesh(name)) && kind_of(name) == Layout::AsShared)
      take_blocks(name, mesh, coarsening, to);
  for (auto& [name, mesh] : meshes)
    if (layout::is_division(kind_of(name))) {
      take(name, mesh);
      take_regions(name, coarsening, to);
    }
  for (auto& [name, mesh] : meshes)
    if (kind_of(name) != Layout::AsShared && !layout::is_division(kind_of(name))) {
      take(name, mesh);
      if (!take_particles(name, to)) std::swap(mesh, meshes_[name]);
    }
  std::erase_if(meshes, [&](const auto& entry) {
    return meshes_.contains(entry.first) && entry.second.blocks.empty();
  });
  settle(meshes, to);
}

SendPlan::~SendPlan() = default;

void SendPlan::count(const FieldType& field, int64_t cells) {
  bytes_[field.name] += cells * static_cast<int64_t>(field.bytes_per_cell());
}

// Every array is aligned, so that receivers read it where it lies: each is a list of one region.
void SendPlan::add_block(const std::string& name, size_t number, int receiver,
                         const SentByReceiver* sent) {
  auto& outgoing = messages_->outgoing[receiver];
  const auto& mesh = meshes_.at(name);
  const Block& block = mesh.blocks[number];
  const int64_t cells = block.box.volume();
  auto& layout = outgoing.layout.blocks.emplace_back(layout_of(name, block));
  const auto version_of = [&](const FieldType& field) {
    return sent == nullptr ? 0 : block.arrays.at(field.name).version;
  };
  if (std::any_of(layout.fields.begin(), layout.fields.end(), version_of))
    for (const auto& field : layout.fields)
      layout.keeping.push_back(keeping_of(sent, receiver, field.name, block.id, version_of(field)));
  for (size_t f = 0; f < layout.fields.size(); ++f) {
    if (!layout.keeping.empty() && layout.keeping[f].left_out != 0) continue;
    const auto& field = layout.fields[f];
    const layout::Moves whole{0, {{0, 0, block.box, {0, 0, 0}}}, cells};
    outgoing.regions.emplace_back(mesh, std::vector{number}, std::vector{field}, whole,
                                  outgoing.size);
    outgoing.size = aligned(outgoing.size + field.bytes_per_cell() * static_cast<size_t>(cells));
    count(field, cells);
  }
}

// Until sidecars have found the owner of each block, blocks go to the primary sidecar.
void SendPlan::take_blocks(const std::string& name, MeshBlocks& mesh, int coarsening,
                           const Destination& to) {
  if (to.receivers < 2) return;
  const auto coarse = model::coarse_mesh(to.catalogue->mesh(name), coarsening);
  // Fields that are cut differently stay together.
  const auto is_of_other_cut = [](const Block& b) { return model::is_of_further_cut(b.id); };
  if (std::any_of(mesh.blocks.begin(), mesh.blocks.end(), is_of_other_cut)) return;
  const Box domain = finest_cells(coarse);
  const auto key = [&](const Block& block) {
    return key_of(in_finest_cells(block.box, block.level, coarse), domain);
  };
  auto& keys = keys_[name];
  for (const auto& block : mesh.blocks)
    if (block.box.volume() > 0) keys.push_back(key(block));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto cuts = to.cuts->find(name);
  if (cuts == to.cuts->end()) return;
  const auto owner = [&](const Block& block) {
    return block.box.volume() == 0 ? to.primary : owner_of(key(block), cuts->second, to.receivers);
  };
  auto& taken = meshes_[name];
  taken.keep = mesh.keep;
  const auto away = std::stable_partition(mesh.blocks.begin(), mesh.blocks.end(),
                                          [&](const Block& b) { return owner(b) == to.primary; });
  std::move(away, mesh.blocks.end(), std::back_inserter(taken.blocks));
  mesh.blocks.erase(away, mesh.blocks.end());
  for (size_t b = 0; b < taken.blocks.size(); ++b)
    add_block(name, b, owner(taken.blocks[b]), to.sent);
}

void SendPlan::take_regions(const std::string& name, int coarsening, const Destination& to) {
  const auto& mesh = meshes_[name];
  const auto coarse = model::coarse_mesh(to.catalogue->mesh(name), coarsening);
  const auto wanted = layout::wanted_of(to.routes->at(name), coarse, to.receivers);
  int64_t group_number = 0;
  for (const auto& [fields, indices] : group(mesh.blocks)) {
    std::vector<Box> boxes;
    for (const size_t b : indices) boxes.push_back(mesh.blocks[b].box);
    for (const auto& moves : layout::plan_moves(boxes, wanted))
      add_regions(name, indices, group_number, moves, to);
    ++group_number;
  }
}

// Constant fields are a list of their own in the message, which is left out if the receiver has it.
void SendPlan::add_regions(const std::string& name, const std::vector<size_t>& blocks,
                           int64_t group, const layout::Moves& moves, const Destination& to) {
  const auto& mesh = meshes_[name];
  Outgoing& outgoing = messages_->outgoing[moves.rank];
  auto& regions = outgoing.layout.regions.emplace_back(regions_of(moves));
  regions.mesh = name;
  regions.group = group;
  for (auto& field : fields_of(mesh.blocks[blocks.front()])) {
    const bool is_constant =
        to.sent != nullptr && std::all_of(blocks.begin(), blocks.end(), [&](size_t b) {
          return mesh.blocks[b].arrays.at(field.name).version != 0;
        });
    (is_constant ? regions.constants : regions.fields).push_back(std::move(field));
  }
  const auto add = [&](const std::vector<FieldType>& fields) {
    size_t bytes = 0;
    for (const auto& field : fields) {
      bytes += field.bytes_per_cell() * static_cast<size_t>(moves.cells);
      count(field, moves.cells);
    }
    outgoing.regions.emplace_back(mesh, blocks, fields, moves, outgoing.size);
    outgoing.size = aligned(outgoing.size + bytes);
    direct_ += static_cast<int64_t>(bytes);
  };
  add(regions.fields);
  if (regions.constants.empty()) return;
  regions.kept_as = name_of_kept(to.routes->at(name), regions);
  regions.keeping = keeping_of(to.sent, moves.rank, regions.kept_as, group,
                               version_of(mesh.blocks, blocks, regions));
  if (regions.keeping.left_out == 0) add(regions.constants);
}

// The stage reports faults of particles; such particles go to the primary sidecar.
bool SendPlan::take_particles(const std::string& name, const Destination& to) {
  const auto& request = to.routes->at(name);
  const auto domain = to.domains->find(name);
  try {
    if (request.kind == Layout::Spatial && domain == to.domains->end())
      base::fail(ErrorCode::Sharing, "mesh '{}' has no domain", name);
    for (const auto& block : meshes_[name].blocks)
      for (const auto& field : request.needed())
        if (!block.arrays.contains(field))
          base::fail(ErrorCode::Sharing, "block {} comes without '{}'", block.number(), field);
    const auto& moves = messages_->particles.emplace_back(plan_particles(
        meshes_[name], request, domain == to.domains->end() ? pillion_domain{} : domain->second,
        to.receivers));
    for (const int rank : moves.ranks()) {
      Outgoing& outgoing = messages_->outgoing[rank];
      outgoing.layout.particles.push_back(name);
      outgoing.particles.push_back({&moves, outgoing.size});
      outgoing.size = aligned(outgoing.size + message_alignment + moves.size_for(rank));
      direct_ += static_cast<int64_t>(moves.size_for(rank));
    }
  } catch (const Error&) {
    scattered_ = true;
    return false;
  }
  for (const auto& block : meshes_[name].blocks)
    for (const auto& field : request.needed())
      count(type_of(field, block.arrays.at(field)), block.owned);
  return true;
}

void SendPlan::settle(const Meshes& left, const Destination& to) {
  base::ByteWriter schema;
  for (auto& [receiver, outgoing] : messages_->outgoing) {
    outgoing.layout_bytes = base::to_bytes(outgoing.layout);
    schema.put(static_cast<int64_t>(receiver));
    schema.put(static_cast<int64_t>(outgoing.layout_bytes.size()));
    schema.put_raw(outgoing.layout_bytes.data(), outgoing.layout_bytes.size());
  }
  // What stays counts when sidecars balance.
  for (const auto& [name, mesh] : left)
    if (model::has_boxes(to.catalogue->mesh(name).kind))
      for (const auto& block : mesh.blocks) schema.put(block.box);
  schema_ = schema.take();
}

bool SendPlan::brings_new() const {
  return std::any_of(messages_->outgoing.begin(), messages_->outgoing.end(),
                     [](const auto& o) { return redistribution::brings_new(o.second.layout); });
}

void SendPlan::note_in(SentByReceiver& sent) const {
  for (const auto& [receiver, outgoing] : messages_->outgoing) {
    const auto& layout = outgoing.layout;
    if (!redistribution::brings_new(layout)) continue;
    auto& of_receiver = sent[receiver];
    for (const auto& block : layout.blocks)
      for (size_t f = 0; f < block.keeping.size(); ++f)
        if (const auto version = block.keeping[f].version; version != 0)
          of_receiver.add(block.fields[f].name, block.id, version);
    for (const auto& list : layout.regions)
      if (list.keeping.version != 0)
        of_receiver.add(list.kept_as, list.group, list.keeping.version);
    of_receiver.end_message();
  }
}

bool SendPlan::is_lasting() const { return messages_->particles.empty() && !scattered_; }

std::vector<int32_t> SendPlan::receivers() const {
  std::vector<int32_t> out;
  for (const auto& [receiver, outgoing] : messages_->outgoing) out.push_back(receiver);
  return out;
}

void SendPlan::lay_out(bool with_layouts) {
  with_layouts_ = with_layouts;
  parts_.clear();
  size_ = 0;
  for (const auto& [receiver, outgoing] : messages_->outgoing) {
    const size_t size =
        values_offset(with_layouts ? outgoing.layout_bytes.size() : 0) + outgoing.size;
    parts_.push_back({receiver, size_, size});
    size_ = aligned(size_ + size);
  }
}

void SendPlan::pack(std::byte* to, int64_t sequence) {
  std::map<const layout::ParticleMoves*, std::vector<std::byte*>> particles;
  auto part = parts_.begin();
  for (auto& [receiver, outgoing] : messages_->outgoing) {
    std::byte* at = to + part->offset;
    const size_t layout_size = with_layouts_ ? outgoing.layout_bytes.size() : 0;
    const MessageHead head{sequence, static_cast<int64_t>(layout_size)};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, outgoing.layout_bytes.data(), layout_size);
    at += values_offset(layout_size);
    for (auto& regions : outgoing.regions) regions.pack(at + regions.offset);
    for (const auto& [moves, offset] : outgoing.particles) {
      const auto size = static_cast<int64_t>(moves->size_for(receiver));
      std::memcpy(at + offset, &size, sizeof size);
      particles[moves].push_back(at + offset + message_alignment);
    }
    ++part;
  }
  for (const auto& [moves, messages] : particles) moves->pack(messages);
}

}  // namespace pillion::redistribution
