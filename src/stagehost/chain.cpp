// SPDX-License-Identifier: BSD-3-Clause
// Stages in a row.
#include "stagehost/chain.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "layout/division.hpp"
#include "model/configuration.hpp"
#include "products/timeline.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/state.hpp"
#include "stagehost/work.hpp"

namespace pillion::stagehost {
namespace {

// No stage can take these names from the host: names of stages' values are theirs to choose, but
// these have a blank at their start.
constexpr const char* count_name = " publications";
constexpr const char* scalars_name = " scalars";

void check(int32_t status) {
  if (status != 0) throw Error(static_cast<ErrorCode>(status), base::last_error());
}

std::filesystem::path state_folder(const std::filesystem::path& folder, size_t number,
                                   const std::string& name) {
  return folder / state_name(number, name);
}

}  // namespace

std::string state_name(size_t number, const std::string& stage) {
  return fmt::format("stage-{}-{}", number, stage);
}

StageInstance::StageInstance(const model::StageSpec& spec, model::Catalogue& catalogue,
                             std::vector<DeclaredProduct>& products)
    : name_(spec.name),
      plugin_(std::make_unique<Plugin>(spec.name, spec.parameters, spec.file)),
      setup_(std::make_unique<pillion_setup>()) {
  setup_->parameters = complete_parameters(spec, plugin_->table());
  parameters_ = base::to_json(setup_->parameters);
  setup_->catalogue = &catalogue;
  setup_->stage = spec.name;
  setup_->in_separate_job = spec.in_separate_job;
  setup_->products = products;
  check(plugin_->table().create(&host_table(), setup_.get(), &stage_));
  products = setup_->products;
  movers_.resize(setup_->inputs.size());
}

bool StageInstance::survives_failure(const comm::Communicator& peers) const {
  if (setup_->is_recoverable) return true;
  pillion_state state;
  const bool keeps_nothing =
      plugin_->table().save(stage_, &state) == 0 && state.globals.empty() && state.keyed.empty();
  return peers.reduced<int32_t>(keeps_nothing ? 1 : 0, comm::Operation::Min) != 0;
}

StageInstance::StageInstance(StageInstance&& other) noexcept
    : name_(std::move(other.name_)),
      plugin_(std::move(other.plugin_)),
      setup_(std::move(other.setup_)),
      parameters_(std::move(other.parameters_)),
      stage_(std::exchange(other.stage_, nullptr)),
      movers_(std::move(other.movers_)),
      publications_(other.publications_),
      scalars_(std::move(other.scalars_)) {}

StageInstance::~StageInstance() {
  if (stage_ != nullptr) plugin_->table().destroy(stage_);
}

bool StageInstance::run(Publication& publication, const ExecutionContext& context) {
  if (setup_->requires_whole && publication.coarsening > 0)
    base::fail(ErrorCode::Stage,
               "stage '{}' cannot use the coarsened publication of step {}; set 'when_full: skip' "
               "or 'wait', or run it 'at: simulation'",
               name_, publication.step);
  pillion_work work{setup_.get(), &publication, &context, {}};
  // Inputs point into themselves: one that is copied when the list grows points to what is gone.
  work.inputs.reserve(setup_->inputs.size());
  for (size_t i = 0; i < setup_->inputs.size(); ++i)
    work.inputs.push_back(bring(setup_->inputs[i], publication, context, movers_[i]));
  check(plugin_->table().run(stage_, &work));
  if (!work.withheld) check_outputs(work);
  return !work.withheld;
}

void StageInstance::finish(Publication& publication, const ExecutionContext& context) {
  pillion_work work{setup_.get(), &publication, &context, {}};
  check(plugin_->table().finish(stage_, &work));
}

void StageInstance::save(pillion_state& state) const {
  check(plugin_->table().save(stage_, &state));
  save_own(state);
}

void StageInstance::restore(pillion_state& state) {
  restore_own(state);
  check(plugin_->table().restore(stage_, &state));
}

void StageInstance::save_own(pillion_state& state) const {
  const auto* begin = reinterpret_cast<const std::byte*>(&publications_);
  state.globals[count_name].assign(begin, begin + sizeof publications_);
  if (!scalars_.empty()) state.globals[scalars_name] = base::to_bytes(scalars_);
}

void StageInstance::restore_own(const pillion_state& state) {
  const auto at = state.globals.find(count_name);
  if (at == state.globals.end() || at->second.size() != sizeof publications_)
    base::fail(ErrorCode::File, "the checkpoint does not hold the number of publications");
  std::memcpy(&publications_, at->second.data(), sizeof publications_);
  if (const auto scalars = state.globals.find(scalars_name); scalars != state.globals.end())
    scalars_ = base::from_bytes<ScalarSeries>(scalars->second);
}

Chain::Chain(const model::AnalysisSpec& analysis, size_t begin, size_t end,
             model::Catalogue catalogue, std::vector<DeclaredProduct> products)
    : catalogue_(std::move(catalogue)),
      products_(std::move(products)),
      first_(begin),
      products_every_(analysis.products_every) {
  stages_.reserve(end - begin);
  for (size_t s = begin; s < end; ++s)
    stages_.emplace_back(analysis.stages[s], catalogue_, products_);
}

bool Chain::run_stage(StageInstance& stage, Publication& publication,
                      ExecutionContext& context) const {
  const int64_t number = stage.publications() + 1;
  context.before = number - 1;
  context.origin.publications = number;
  context.products_due = products_every_ > 0 && number % products_every_ == 0;
  stage.scalars().add(publication.step, context.origin.scalars);
  context.scalars = &stage.scalars();
  return stage.run(publication, context);
}

std::optional<Error> Chain::run_in_place(Publication& publication, ExecutionContext context) {
  auto failure = run_stages(publication, context);
  if (!failure) failures_ = 0;
  else if (failure->code() != ErrorCode::Sharing) ++failures_;
  return failure;
}

std::optional<Error> Chain::run_stages(Publication& publication, ExecutionContext& context) {
  comm::Fence fence(*context.peers);
  context.fence = &fence;
  context.catalogue = &catalogue_;
  withheld_ = false;
  unharmed_ = true;
  // Before any stage sees the publication, so that none has counted one that others cannot use.
  if (!publication.is_checked)
    if (auto failure = fence.run([&] { check_coverage(publication, shared_fields(), context); }))
      return failure;
  publication.is_checked = true;
  for (size_t s = 0; s < stages_.size(); ++s) {
    auto& stage = stages_[s];
    context.origin.number = static_cast<int64_t>(first_ + s);
    bool goes_on = false;
    const double begin = base::calendar_seconds(), waited = comm::seconds_waited();
    const auto run = [&] {
      context.origin.stage = stage.name();
      context.origin.stage_parameters = stage.parameters();
      return run_stage(stage, publication, context);
    };
    if (auto failure = fence.ask(run, goes_on)) {
      // Every peer is here with the same failure, so all of them ask or none does.
      unharmed_ = !base::is_out_of_memory(*failure) && stage.survives_failure(*context.peers);
      return failure;
    }
    // The caller notes the time of a lone stage as that of its analysis.
    if (context.timeline != nullptr && stages_.size() > 1)
      context.timeline->add({stage.name(), "stage", begin, base::calendar_seconds(),
                             publication.step, comm::seconds_waited() - waited});
    stage.count();
    withheld_ = !goes_on;
    if (withheld_) break;
  }
  return {};
}

std::optional<Error> Chain::run(const Publication& publication, ExecutionContext context) {
  Publication own = publication;
  return run_in_place(own, std::move(context));
}

// A stage that fails here does not keep the others from writing what they have.
std::optional<Error> Chain::finish(ExecutionContext context) {
  Publication empty;
  comm::Fence fence(*context.peers);
  context.fence = &fence;
  context.catalogue = &catalogue_;
  context.products_due = true;
  std::optional<Error> first;
  for (size_t s = 0; s < stages_.size(); ++s) {
    auto& stage = stages_[s];
    // A stage that completed no publication has nothing to write.
    if (stage.publications() == 0) continue;
    context.origin.number = static_cast<int64_t>(first_ + s);
    context.before = context.origin.publications = stage.publications();
    context.scalars = &stage.scalars();
    const auto failure = fence.run([&] {
      context.origin.stage = stage.name();
      context.origin.stage_parameters = stage.parameters();
      stage.finish(empty, context);
    });
    if (failure && !first) first = failure;
  }
  return first;
}

void Chain::save(const std::filesystem::path& folder, const StateRanks& ranks, size_t first_stage,
                 bool durable) const {
  comm::Fence fence(ranks.peers);
  const auto failure = fence.run([&] {
    for (size_t s = 0; s < stages_.size(); ++s) {
      pillion_state state;
      stages_[s].save(state);
      write_state(state, state_folder(folder, first_stage + s, stages_[s].name()), ranks, fence,
                  durable);
    }
  });
  if (failure) throw *failure;
}

void Chain::restore(const std::filesystem::path& folder, const comm::Communicator& peers,
                    size_t first_stage) {
  comm::Fence fence(peers);
  for (size_t s = 0; s < stages_.size(); ++s) {
    const auto failure = fence.run([&] {
      const auto place = state_folder(folder, first_stage + s, stages_[s].name());
      auto state = read_state(place, peers, fence);
      stages_[s].restore(state);
    });
    if (failure) throw *failure;
  }
}

std::set<std::string> Chain::needed() const {
  std::set<std::string> names, made;
  for (const auto& stage : stages_) {
    for (const auto& request : stage.setup().inputs)
      for (const auto& name : request.needed())
        if (!made.contains(name)) names.insert(name);
    for (const auto& output : stage.setup().outputs) made.insert(output.name);
  }
  return names;
}

std::set<std::string> Chain::shared_fields() const {
  auto names = needed();
  std::erase_if(names, [&](const auto& name) { return catalogue_.is_made(name); });
  return names;
}

// Without their finest levels, meshes would show cells that these covered, whose values mean
// nothing.
std::string Chain::whole_for() const {
  for (const auto& stage : stages_) {
    const auto& inputs = stage.setup().inputs;
    const bool stays_whole = std::any_of(inputs.begin(), inputs.end(), [&](const auto& request) {
      const auto& mesh = catalogue_.mesh(layout::mesh_of(request, catalogue_));
      return mesh.levels() > 1 || !model::geometry_fields(mesh).empty();
    });
    if (stage.setup().requires_whole || stays_whole) return stage.name();
  }
  return {};
}

std::vector<layout::LayoutRequest> Chain::layout_requests() const {
  std::vector<layout::LayoutRequest> requests;
  std::set<std::string> made;
  for (const auto& stage : stages_) {
    for (const auto& request : stage.setup().inputs) {
      const auto needed = request.needed();
      const auto mesh = layout::mesh_of(request, catalogue_);
      auto sent = request;
      // Cells whose points are shared come as shared; the peers then move them, at every placement.
      if (const auto kind = catalogue_.mesh(mesh).kind;
          kind == model::MeshKind::Unstructured || kind == model::MeshKind::Curvilinear)
        sent.kind = layout::Kind::AsShared;
      requests.push_back({mesh, sent,
                          std::all_of(needed.begin(), needed.end(),
                                      [&](const auto& name) { return made.contains(name); })});
    }
    for (const auto& output : stage.setup().outputs) made.insert(output.name);
  }
  return requests;
}

std::vector<StageNeeds> Chain::needs_of_memory() const {
  std::vector<StageNeeds> needs;
  for (const auto& stage : stages_) {
    const auto& setup = stage.setup();
    StageNeeds one{stage.name(), setup.inputs, {}, setup.memory_per_input_byte, setup.memory};
    for (const auto& output : setup.outputs) one.outputs.push_back(output.name);
    needs.push_back(std::move(one));
  }
  return needs;
}

std::vector<model::Field> Chain::produced() const {
  std::vector<model::Field> fields;
  for (const auto& stage : stages_)
    for (const auto& output : stage.setup().outputs)
      fields.push_back(catalogue_.field(output.name));
  return fields;
}

}  // namespace pillion::stagehost
