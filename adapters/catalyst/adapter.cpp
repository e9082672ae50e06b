// SPDX-License-Identifier: BSD-3-Clause
// Opening, stepping and closing. Until the first step a failure is the same on every rank and goes
// back to the simulation as a status. From then on a failure is a warning.
#include "adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <pillion/error.hpp>

#include "agreement.hpp"
#include "results.hpp"

namespace pillion::catalyst {

namespace {

using OptionsHandle = std::unique_ptr<pillion_options, void (*)(pillion_options*)>;

OptionsHandle make_options(const Options& wanted) {
  pillion_options* raw = nullptr;
  check(pillion_options_create(&raw));
  OptionsHandle options(raw, &pillion_options_free);
  check(pillion_options_set_deferred(raw));
  // The simulation uses all of its ranks already.
  check(pillion_options_set_role(raw, PILLION_ROLE_SIMULATION));
  if (!wanted.restart.empty()) check(pillion_options_set_restart(raw, wanted.restart.c_str()));
  for (const auto& [name, value] : wanted.parameters)
    check(pillion_options_set(raw, name.c_str(), value.c_str()));
  return options;
}

/// Begins MPI for a program that does without it; such a program is a run of its own.
bool begin_mpi() {
  int initialized = 0, finalized = 0, provided = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw Error(ErrorCode::State, "catalyst_initialize was called after MPI_Finalize");
  if (initialized != 0) return false;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  return true;
}

/// For failures that every rank has at once, which the library prints on rank 0.
void check_agreed(pillion_status status) {
  if (status != PILLION_OK) throw Reported(static_cast<ErrorCode>(status), pillion_error_message());
}

/// A rank without channels has no domains.
Description description_of(const Node& params) {
  const auto channels = params.find("catalyst/channels");
  return channels ? describe(*channels) : Description{};
}

MPI_Comm communicator_of(const Options& options, bool owns_mpi) {
  if (options.communicator) {
    if (owns_mpi)
      throw Error(ErrorCode::State,
                  "the program passes 'catalyst/mpi_comm', but has not called MPI_Init with the "
                  "MPI library that Pillion was built with");
    return MPI_Comm_f2c(static_cast<MPI_Fint>(*options.communicator));
  }
  return owns_mpi ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

}  // namespace

void warn(const std::string& text) {
  std::fputs(fmt::format("pillion: warning: {}\n", text).c_str(), stderr);
}

Adapter::Adapter(const Options& wanted) : levels_(wanted.levels), owns_mpi_(begin_mpi()) {
  const MPI_Comm given = communicator_of(wanted, owns_mpi_);
  MPI_Comm_rank(given, &rank_);
  const auto options = make_options(wanted);
  const auto status = pillion_open_with(
      wanted.file.c_str(), wanted.is_in_world ? MPI_COMM_WORLD : given, options.get(), &session_);
  if (status == PILLION_ERROR_PLACEMENT && !wanted.is_in_world && rank_ == 0)
    warn(
        "the program behind Catalyst uses all of its ranks, so none becomes a sidecar: set "
        "'sidecars: {job: separate}' and start `pillion attach`, or leave 'sidecars' out");
  check_agreed(status);
  MPI_Comm_dup(pillion_communicator(session_), &comm_);
  for (const auto& script : wanted.others)
    if (rank_ == 0)
      warn(fmt::format(
          "the script '{}' is not for Pillion and is ignored; the stage 'catalyst' runs "
          "scripts of ParaView",
          script));
}

Adapter::~Adapter() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (session_ != nullptr) pillion_close(session_);
  if (owns_mpi_) MPI_Finalize();
}

template <class F>
void Adapter::attempt(F&& body) {
  try {
    body();
  } catch (const std::exception& problem) {
    warn_once(problem.what());
  }
}

void Adapter::warn_once(const std::string& text) {
  if (warned_.insert(text).second) warn(fmt::format("rank {}: {}", rank_, text));
}

std::set<std::string> Adapter::used_fields() const {
  std::set<std::string> used;
  int32_t count = 0;
  check(pillion_count_fields(session_, &count));
  for (int32_t n = 0; n < count; ++n) {
    pillion_field field{};
    check(pillion_get_field(session_, n, &field));
    if (field.used != 0) used.insert(field.name);
  }
  return used;
}

void Adapter::offer_catalogue(const Plan& plan, const Node& params) {
  std::string catalogue = catalogue_of(plan);
  if (const auto scalars = params.find("catalyst/pillion/scalars")) {
    catalogue += "scalars:\n";
    for (const auto& scalar : scalars->children())
      catalogue += fmt::format("  {}: {{}}\n", scalar.name());
  }
  check(pillion_offer_catalogue(session_, catalogue.c_str()));
  check_agreed(pillion_configure(session_));
}

bool Adapter::begin(const Node& params, const Description& description) {
  const Facts facts = agree(facts_of(description), comm_);
  if (facts.meshes.empty() && facts.faults.empty()) return false;
  auto plan = plan_of(facts, levels_);
  if (rank_ == 0)
    for (const auto& warning : plan.warnings) warn(warning);
  if (plan.is_empty())
    throw Error(ErrorCode::Sharing,
                fmt::format("no mesh is left for Pillion: {}", plan.warnings.front()));
  offer_catalogue(plan, params);
  sharing_ = std::make_unique<Sharing>(session_, std::move(plan));
  sharing_->set_coordinates();
  return true;
}

/// The bounds of positions, on all ranks; the last one lies inside.
pillion_domain Adapter::bounds_of(const Key& key, const Description& description) const {
  // Upper bounds go with the other sign, so that one reduction finds both.
  std::array<double, 6> bounds;
  bounds.fill(std::numeric_limits<double>::max());
  for (const auto& part : description.parts) {
    if (part.key != key) continue;
    for (size_t d = 0; d < part.coordinates.size(); ++d)
      for (int64_t i = 0; i < part.coordinates[d].count; ++i) {
        const double x = part.coordinates[d].real(i);
        bounds[d] = std::min(bounds[d], x);
        bounds[3 + d] = std::min(bounds[3 + d], -x);
      }
  }
  MPI_Allreduce(MPI_IN_PLACE, bounds.data(), 6, MPI_DOUBLE, MPI_MIN, comm_);
  pillion_domain domain{};
  for (size_t d = 0; d < 3; ++d) {
    const bool is_known = bounds[d] < std::numeric_limits<double>::max();
    domain.lo[d] = is_known ? bounds[d] : 0;
    const double extent = is_known ? -bounds[3 + d] - bounds[d] : 0;
    domain.hi[d] = domain.lo[d] + (extent > 0 ? extent * (1 + 1e-9) : 1);
  }
  return domain;
}

void Adapter::set_domains(const Node& params, const Description& description) {
  const auto given = params.find("catalyst/pillion/domains");
  for (const auto& [key, mesh] : sharing_->plan().meshes) {
    if (mesh.kind != PILLION_PARTICLES) continue;
    const auto of_channel = given ? given->find(key.channel.c_str()) : std::nullopt;
    const pillion_domain domain =
        of_channel ? read_domain(*of_channel) : bounds_of(key, description);
    check(pillion_set_domain(session_, mesh.name.c_str(), &domain));
  }
}

void Adapter::set_scalars(const Node& params) {
  const auto scalars = params.find("catalyst/pillion/scalars");
  if (!scalars) return;
  for (const auto& scalar : scalars->children())
    check(pillion_set_scalar(session_, scalar.name().c_str(), scalar.real()));
}

void Adapter::first_step(const Node& params, const StepAndTime& at) {
  // A failure ends Pillion's part of the run: the session can only be closed.
  is_off_ = true;
  const Description description = description_of(params);
  if (!begin(params, description)) {
    is_off_ = false;
    if (rank_ == 0) warn_once("no rank has passed a mesh in 'catalyst/channels' yet");
    return;
  }
  set_scalars(params);
  set_domains(params, description);
  (void)sharing_->share(description, used_fields());
  check_agreed(pillion_step(session_, at.step, at.time));
  is_off_ = false;
}

void Adapter::later_step(const Node& params, const StepAndTime& at) {
  int32_t is_due = 0;
  check(pillion_is_due(session_, at.step, at.time, &is_due));
  if (is_due == 0) return;
  const Description description = description_of(params);
  set_scalars(params);
  set_domains(params, description);
  for (const auto& fault : sharing_->share(description, used_fields())) warn_once(fault);
}

void Adapter::execute(const Node& params) {
  if (session_ == nullptr || is_off_) return;
  const StepAndTime at = read_step(params, next_);
  next_ = at.step + 1;
  if (sharing_ == nullptr) {
    first_step(params, at);
  } else {
    attempt([&] { later_step(params, at); });
    // Also after a failure, which may be this rank's alone: the others wait for it in there.
    attempt([&] { check(pillion_step(session_, at.step, at.time)); });
  }
  if (const auto path = params.find("catalyst/pillion/checkpoint"))
    attempt([&] { check(pillion_checkpoint(session_, path->text().c_str())); });
}

void Adapter::finalize() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (session_ != nullptr) check(pillion_close(std::exchange(session_, nullptr)));
}

void Adapter::results(const ConduitApi& api, RawNode* params) {
  if (session_ == nullptr || sharing_ == nullptr || is_off_) return;
  pillion_progress progress{};
  check(pillion_get_progress(session_, &progress));
  put_progress(progress, api, params);
  // Every rank gets what rank 0 read, so ranks cannot differ.
  const std::string mine = rank_ == 0 ? last_rows(pillion_report_path(session_)) : std::string();
  put_rows(broadcast(mine, comm_), api, params);
}

}  // namespace pillion::catalyst
