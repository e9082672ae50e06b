// SPDX-License-Identifier: BSD-3-Clause
// Making, keeping and renewing messages.
#include "simulation/message_cache.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/configuration.hpp"
#include "run/run.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

CachedMessage::CachedMessage(const transport::PublicationHeader& head, transport::Meshes meshes,
                             const transport::Lender& lender, const transport::SentArrays* sent,
                             std::unique_ptr<redistribution::SendPlan> send_plan)
    : meshes_(std::move(meshes)),
      encoder_(head, meshes_, &lender, sent),
      send_plan_(std::move(send_plan)) {}

size_t CachedMessage::size() const {
  if (!send_plan_ || send_plan_->size() == 0) return encoder_.size();
  return redistribution::aligned(encoder_.size()) + send_plan_->size();
}

void CachedMessage::encode(std::byte* to, int64_t sequence, base::Copy how,
                           base::CopyThreads* threads) const {
  encoder_.encode(to, how, threads);
  if (send_plan_) send_plan_->pack(to + redistribution::aligned(encoder_.size()), sequence);
}

void CachedMessage::add_share(const model::AnalysisSpec& analysis,
                              const std::set<std::string>& cut_fields) {
  auto& share = shares_.emplace_back(0);
  auto& fields = fields_.emplace_back();
  const auto is_of_it = [&](const std::string& field) {
    return cut_fields.contains(field) || field.starts_with(analysis.name + "/");
  };
  for (const auto& [field, bytes] : encoder_.bytes_of_fields())
    if (is_of_it(field)) {
      share += bytes.all;
      fields.push_back(&bytes);
    }
  if (!send_plan_) return;
  for (const auto& [field, bytes] : send_plan_->bytes_of_fields())
    if (is_of_it(field)) share += bytes;
}

int64_t CachedMessage::share(size_t number) const {
  int64_t bytes = shares_[number];
  for (const auto* field : fields_[number]) bytes -= field->left_out;
  return bytes;
}

int64_t CachedMessage::bytes_copied(size_t share) const {
  int64_t bytes = this->share(share);
  for (const auto* field : fields_[share]) bytes -= field->lent;
  return bytes;
}

void CachedMessage::link(const Sharing& sharing) {
  Sharing::Finder finder(sharing);
  std::vector<const model::Array*> shared;
  for (const auto& [name, mesh] : meshes_)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        shared.push_back(finder.find(field, block.number()));
  encoder_.take_from(shared);
  if (!send_plan_) return;
  for (auto& [name, mesh] : send_plan_->meshes())
    for (auto& block : mesh.blocks)
      for (auto& [field, array] : block.arrays)
        links_.push_back({&array, finder.find(field, block.number())});
}

namespace {

/// Where the values of an array of the same shape are, and which they are.
void take_values(model::Array& array, const model::Array& from) {
  array.data = from.data;
  array.offsets = from.offsets;
  array.version = from.version;
}

bool are_equal(const model::Block& a, const model::Block& b) {
  return a.id == b.id && a.level == b.level && a.box == b.box && a.owned == b.owned &&
         std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.type == y.second.type &&
                             x.second.components == y.second.components &&
                             x.second.strides == y.second.strides &&
                             x.second.extents == y.second.extents &&
                             x.second.is_apart() == y.second.is_apart();
                    });
}

/// Whether only values differ, and where they are.
bool are_equal(const transport::Meshes& a, const transport::Meshes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const auto& of_x = x.second.blocks;
    const auto& of_y = y.second.blocks;
    return x.first == y.first &&
           std::equal(of_x.begin(), of_x.end(), of_y.begin(), of_y.end(),
                      [](const auto& p, const auto& q) { return are_equal(p, q); });
  });
}

}  // namespace

void CachedMessage::note(transport::Meshes meshes) {
  using Place = std::tuple<std::string, int64_t, std::array<int64_t, 3>, std::string>;
  std::map<Place, model::Array*> places;
  for (auto* from : {&meshes_, send_plan_ ? &send_plan_->meshes() : nullptr}) {
    if (from == nullptr) continue;
    for (auto& [name, mesh] : *from)
      for (auto& block : mesh.blocks)
        for (auto& [field, array] : block.arrays)
          places[{name, block.id, block.box.lo, field}] = &array;
  }
  noted_ = std::move(meshes);
  for (const auto& [name, mesh] : noted_)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        slots_.push_back(places.at({name, block.id, block.box.lo, field}));
}

bool CachedMessage::refill(transport::Meshes& meshes) {
  if (!are_equal(noted_, meshes)) return false;
  noted_ = std::move(meshes);
  auto slot = slots_.begin();
  for (const auto& [name, mesh] : noted_)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays) take_values(**slot++, array);
  return true;
}

void CachedMessage::release() {
  for (auto* meshes : {&meshes_, &noted_, send_plan_ ? &send_plan_->meshes() : nullptr})
    if (meshes != nullptr)
      for (auto& [name, mesh] : *meshes) mesh.keep.clear();
}

void CachedMessage::renew(const transport::PublicationHeader& head,
                          const transport::Lender& lender) {
  for (const auto& link : links_) {
    take_values(*link.array, *link.shared);
  }
  encoder_.renew(head, &lender);
}

CachedMessage* MessageCache::find(const transport::DueSet& due, int64_t version) {
  if (version != version_) return nullptr;
  const auto at = messages_.find(due);
  return at == messages_.end() ? nullptr : at->second.get();
}

// Which analyses are due together repeats itself; where it does not, nothing is gained by keeping.
CachedMessage& MessageCache::keep(const transport::DueSet& due, int64_t version,
                                  std::unique_ptr<CachedMessage> message) {
  constexpr size_t most = 16;
  if (version != version_ || messages_.size() >= most) messages_.clear();
  version_ = version;
  return *(messages_[due] = std::move(message));
}

MessageBuilder::MessageBuilder(const run::Run& run, transport::Sender& sender,
                               const run::LayoutRequests& layout_requests,
                               const run::CutFields& cut_fields, const Sharing& sharing,
                               const transport::Lender& lender, size_t own)
    : run_(run),
      sender_(sender),
      layout_requests_(layout_requests),
      cut_fields_(cut_fields),
      sharing_(sharing),
      lender_(lender),
      data_(run, cut_fields, sharing, own),
      sent_arrays_(sender.slots() == nullptr ? std::make_unique<transport::SentArrays>()
                                             : nullptr) {}

size_t MessageBuilder::size_for(const std::vector<size_t>& due) const {
  transport::PublicationHeader head;
  head.scalars = run_.scalars;
  head.domains = sharing_.domains();
  head.coordinates = sharing_.coordinates();
  for (const size_t a : due) head.due.push_back({static_cast<int32_t>(a), 0, 0, 0});
  auto meshes = data_.of(head, due, StageOutputs(cut_fields_.size()));
  const auto send_plan = plan(head, meshes);
  // The header is left out: it has room where values have none.
  if (!send_plan)
    return CutData::bytes_of(meshes) -
           static_cast<size_t>(transport::Encoder(head, meshes, &lender_).bytes_lent());
  send_plan->lay_out(true);
  return redistribution::aligned(transport::Encoder(head, meshes).size()) + send_plan->size();
}

// What was made for the last publication like this one is used again, with other values in it.
CachedMessage& MessageBuilder::prepare(transport::PublicationHeader& head,
                                       const std::vector<size_t>& due, const StageOutputs& left) {
  if (std::exchange(is_outdated_, false)) messages_.clear();
  const auto due_set = transport::due_set_of(head);
  const bool as_shared = head.coarsening == 0 && std::all_of(due.begin(), due.end(), [&](size_t a) {
                           return left[a].meshes.empty();
                         });
  if (as_shared)
    if (CachedMessage* message = messages_.find(due_set, version())) return renewed(*message, head);
  head.domains = sharing_.domains();
  head.coordinates = sharing_.coordinates();
  auto meshes = data_.gather(head, due, left);
  if (!as_shared)
    if (CachedMessage* message = messages_.find(due_set, version());
        message && message->refill(meshes))
      return renewed(*message, head);
  auto noted = as_shared ? transport::Meshes() : meshes;
  auto send_plan = plan(head, meshes);
  if (send_plan) declare(head, *send_plan);
  const bool lasts = !send_plan || send_plan->is_lasting();
  auto message = std::make_unique<CachedMessage>(head, std::move(meshes), lender_,
                                                 sent_arrays_.get(), std::move(send_plan));
  for (const size_t a : due)
    message->add_share(run_.configuration.analyses[a], cut_fields_[a].fields);
  const bool for_all = std::all_of(head.due.begin(), head.due.end(),
                                   [](const transport::Due& d) { return d.unusable == 0; });
  if (!for_all || !lasts) return settled(*(only_once_ = std::move(message)), head);
  if (as_shared) message->link(sharing_);
  else message->note(std::move(noted));
  return settled(messages_.keep(due_set, version(), std::move(message)), head);
}

CachedMessage& MessageBuilder::settled(CachedMessage& message,
                                       transport::PublicationHeader& head) const {
  if (head.brings_new != message.encoder().brings_new()) {
    head.brings_new = message.encoder().brings_new();
    message.renew(head, lender_);
  }
  return message;
}

CachedMessage& MessageBuilder::renewed(CachedMessage& message,
                                       transport::PublicationHeader& head) const {
  if (message.send_plan() != nullptr) declare(head, *message.send_plan());
  message.renew(head, lender_);
  return settled(message, head);
}

// Changes when the same blocks would be published otherwise.
int64_t MessageBuilder::version() const { return sharing_.version() + sender_.targets_version(); }

std::unique_ptr<redistribution::SendPlan> MessageBuilder::plan(
    const transport::PublicationHeader& head, transport::Meshes& meshes) const {
  const auto targets = sender_.targets(transport::due_set_of(head));
  if (!targets) return {};
  const auto& catalogue = run_.configuration.catalogue;
  const auto routes = run::routes_for(layout_requests_, head, catalogue);
  return std::make_unique<redistribution::SendPlan>(
      meshes, head.coarsening,
      redistribution::Destination{.receivers = targets->sidecars,
                                  .primary = targets->primary,
                                  .catalogue = &catalogue,
                                  .routes = &routes,
                                  .cuts = targets->cuts,
                                  .domains = &head.domains,
                                  .sent = sent_arrays_ ? &sent_directly_ : nullptr});
}

// Says in the header who receives messages directly, and whether what is in them has changed.
void MessageBuilder::declare(transport::PublicationHeader& head,
                             redistribution::SendPlan& send_plan) const {
  head.targets = send_plan.receivers();
  head.box_keys = send_plan.keys();
  head.scattered = send_plan.is_scattered();
  head.schema_changed =
      !schemas_.has(transport::due_set_of(head), send_plan.schema(), head.sequence);
  send_plan.lay_out(head.schema_changed);
}

void MessageBuilder::sent(const transport::PublicationHeader& head, const CachedMessage& message) {
  if (sent_arrays_) message.encoder().note_in(*sent_arrays_);
  const auto* send_plan = message.send_plan();
  if (send_plan == nullptr) return;
  schemas_.keep(transport::due_set_of(head), send_plan->schema(), head.sequence);
  if (!sent_arrays_ || !send_plan->brings_new()) return;
  send_plan->note_in(sent_directly_);
  is_outdated_ = true;
}

}  // namespace pillion::simulation
