// SPDX-License-Identifier: BSD-3-Clause
// Whom to expect messages from, taking them, and balancing.
#include "transport/direct_receiver.hpp"

#include <algorithm>

#include "model/coarsen.hpp"
#include "redistribution/balance.hpp"

namespace pillion::transport {

using model::MeshKind;
using redistribution::MessageLayout;

namespace {

/// What a sidecar learns about a rank that sends its header to another.
enum class Notice : int64_t { Sends, SendsNothing, Absent };

}  // namespace

DirectReceiver::Schema& DirectReceiver::schema_of(const PublicationHeader& agreed) {
  std::erase_if(schemas_, [&](const auto& entry) {
    return agreed.sequence - entry.second.sequence > schema_lifetime;
  });
  Schema& schema = schemas_[due_set_of(agreed)];
  schema.sequence = agreed.sequence;
  return schema;
}

// All sidecars have agreed whether a schema changed or a rank dropped the publication: then all of
// them are here, and only then do notices travel.
std::vector<int> DirectReceiver::expected(const PublicationHeader& agreed,
                                          const std::map<int, PublicationHeader>& heads,
                                          Schema& schema) {
  std::set<int> absent;
  if (agreed.schema_changed || agreed.dropped) {
    std::map<int, base::ByteWriter> notices;
    const auto notify = [&](int sidecar, int rank, Notice notice) {
      notices[sidecar].put(static_cast<int64_t>(rank));
      notices[sidecar].put(notice);
    };
    for (const auto& [rank, head] : heads) {
      auto& targets = schema.targets[rank];
      if (head.dropped) {
        for (const int32_t s : targets) notify(s, rank, Notice::Absent);
      } else if (head.schema_changed) {
        const std::set<int32_t> now(head.targets.begin(), head.targets.end());
        for (const int32_t s : targets)
          if (!now.contains(s)) notify(s, rank, Notice::SendsNothing);
        for (const int32_t s : now) notify(s, rank, Notice::Sends);
        targets = now;
        schema.keys[rank] = head.box_keys;
      }
    }
    std::map<int, base::Bytes> out;
    for (auto& [sidecar, writer] : notices) out[sidecar] = writer.take();
    for (const auto& [sidecar, bytes] : passing_on_(out))
      for (base::ByteReader in(bytes); !in.done();) {
        const auto rank = static_cast<int>(in.get<int64_t>());
        switch (in.get<Notice>()) {
          case Notice::Sends: schema.senders.insert(rank); break;
          case Notice::SendsNothing: schema.senders.erase(rank); break;
          case Notice::Absent: absent.insert(rank); break;
        }
      }
    std::set<int> all;
    for (const auto& [due, known] : schemas_)
      all.insert(known.senders.begin(), known.senders.end());
    inbox_.expect(all);
  }
  std::vector<int> senders;
  std::set_difference(schema.senders.begin(), schema.senders.end(), absent.begin(), absent.end(),
                      std::back_inserter(senders));
  return senders;
}

void DirectReceiver::receive(const PublicationHeader& agreed,
                             const std::map<int, PublicationHeader>& heads, const Routes& routes,
                             const model::Catalogue& catalogue, ReceivedMeshes& out) {
  Schema& schema = schema_of(agreed);
  const auto senders = expected(agreed, heads, schema);
  const auto messages = inbox_.take(senders);
  if (!agreed.dropped)
    taker_.begin(routes, catalogue, agreed.coarsening, side_.rank(), side_.size(), out);
  for (size_t i = 0; i < senders.size(); ++i) {
    size_t values = 0;
    const auto& layout = layout_of(senders[i], messages[i], agreed, schema, values);
    const std::span<const std::byte> all(messages[i].buffer->data() + values,
                                         messages[i].size - values);
    // Also of a publication that other ranks dropped, for the sender takes it as received.
    auto& kept = kept_[senders[i]];
    redistribution::keep(layout, all, kept);
    if (!agreed.dropped) taker_.take(layout, all, messages[i].buffer, out, &kept);
  }
  if (agreed.dropped) return;
  taker_.finish(routes, catalogue, agreed.scattered, out);
  if (!agreed.schema_changed || side_.size() == 1) return;
  balance(agreed, routes, catalogue, schema, out);
  update_cuts(due_set_of(agreed), schema);
}

const MessageLayout& DirectReceiver::layout_of(int sender, const Message& message,
                                               const PublicationHeader& agreed, Schema& schema,
                                               size_t& values) {
  base::ByteReader in(message.buffer->data(), message.size);
  const auto head = in.get<redistribution::MessageHead>();
  if (head.sequence != agreed.sequence)
    base::fail(ErrorCode::Internal, "rank {} sent part of message {} where {} was expected", sender,
               head.sequence, agreed.sequence);
  const auto size = static_cast<size_t>(head.layout_size);
  values = std::min(redistribution::values_offset(size), message.size);
  if (size > 0) {
    base::ByteReader layout(in.take(size), size);
    schema.layouts[sender] = layout.get<MessageLayout>();
  }
  const auto found = schema.layouts.find(sender);
  if (found == schema.layouts.end())
    base::fail(ErrorCode::Internal, "rank {} sent values before it described them", sender);
  return found->second;
}

void DirectReceiver::balance(const PublicationHeader& agreed, const Routes& routes,
                             const model::Catalogue& catalogue, Schema& schema,
                             const ReceivedMeshes& received) {
  for (const auto& [name, route] : routes) {
    if (route.kind != layout::Kind::AsShared || !model::can_be_divided(catalogue.mesh(name)))
      continue;
    const auto mesh = model::coarse_mesh(catalogue.mesh(name), agreed.coarsening);
    std::vector<redistribution::Load> loads;
    if (const auto at = received.find(name); at != received.end())
      for (const auto& block : at->second.blocks) {
        auto& load = loads.emplace_back(
            redistribution::Load{redistribution::in_finest_cells(block.box, block.level, mesh), 0});
        for (const auto& [field, array] : block.arrays)
          load.bytes += static_cast<int64_t>(model::size_of(array.type)) * array.components *
                        block.box.volume();
      }
    schema.cuts[name] =
        redistribution::balance(side_, loads, redistribution::finest_cells(mesh), side_.size());
  }
}

// A rank's boxes are in few pieces, so it gets few cuts however many sidecars there are. If its
// boxes change, its header has where they are then.
void DirectReceiver::update_cuts(const DueSet& due, Schema& schema) {
  for (const auto& [rank, keys] : schema.keys)
    for (const auto& [mesh, cuts] : schema.cuts) {
      const auto of_mesh = keys.find(mesh);
      if (of_mesh == keys.end()) continue;
      auto around = redistribution::cuts_around(of_mesh->second, cuts);
      auto& known = schema.sent_cuts[rank];
      if (const auto at = known.find(mesh); at != known.end() && at->second == around) continue;
      auto& changed = new_cuts_[rank];
      changed.put(due);
      changed.put(mesh);
      changed.put(around);
      known[mesh] = std::move(around);
    }
}

base::Bytes DirectReceiver::take_cuts(int rank) {
  const auto at = new_cuts_.find(rank);
  if (at == new_cuts_.end()) return {};
  auto bytes = at->second.take();
  new_cuts_.erase(at);
  return bytes;
}

}  // namespace pillion::transport
