// SPDX-License-Identifier: BSD-3-Clause
// Opening, stepping and closing. Until the first step a failure is the same on every rank and goes
// back to the simulation as a status. From then on a failure is a warning.
#include "adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

bool is_mpi_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

/// Also if no session could be opened, for launchers blame a process that ends without it.
void end_mpi() {
  if (!is_mpi_finalized()) MPI_Finalize();
}

/// Begins MPI for a program that does without it; such a program is a run of its own.
bool begin_mpi(const Options& options) {
  int initialized = 0, provided = 0;
  MPI_Initialized(&initialized);
  if (is_mpi_finalized())
    throw Error(ErrorCode::State, "catalyst_initialize was called after MPI_Finalize");
  if (initialized != 0) return false;
  if (options.communicator)
    throw Error(ErrorCode::State,
                "the program passes 'catalyst/mpi_comm', but has not called MPI_Init with the "
                "MPI library that Pillion was built with");
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  std::atexit(end_mpi);
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
  if (options.communicator) return MPI_Comm_f2c(static_cast<MPI_Fint>(*options.communicator));
  return owns_mpi ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

}  // namespace

void warn(const std::string& text) {
  std::fputs(fmt::format("pillion: warning: {}\n", text).c_str(), stderr);
}

Adapter::Adapter(const Options& wanted) : levels_(wanted.levels), owns_mpi_(begin_mpi(wanted)) {
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
  if (is_mpi_finalized()) return;
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (session_ != nullptr) pillion_close(session_);
  if (owns_mpi_) end_mpi();
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

bool Adapter::begin(const Node& params, const Description& description) {
  Facts mine = facts_of(description);
  for (const auto& [name, value] : scalars_of(params)) mine.scalars.insert(name);
  const Facts facts = agree(std::move(mine), comm_);
  if (facts.meshes.empty() && facts.faults.empty()) return false;
  auto plan = plan_of(facts, levels_);
  if (rank_ == 0)
    for (const auto& warning : plan.warnings) warn(warning);
  if (plan.is_empty())
    throw Error(ErrorCode::Sharing,
                fmt::format("no mesh is left for Pillion: {}", plan.warnings.front()));
  check(pillion_offer_catalogue(session_, catalogue_of(plan).c_str()));
  check_agreed(pillion_configure(session_));
  sharing_ = std::make_unique<Sharing>(session_, std::move(plan));
  sharing_->set_coordinates();
  return true;
}

std::map<std::string, double> Adapter::scalars_of(const Node& params) {
  std::map<std::string, double> out;
  const auto scalars = params.find("catalyst/pillion/scalars");
  if (!scalars) return out;
  for (const auto& scalar : scalars->children())
    attempt([&] { out.emplace(plain(scalar.name()), scalar.real()); });
  return out;
}

std::optional<pillion_domain> Adapter::given_domain(const Node& params, const Key& key) {
  std::optional<pillion_domain> out;
  const auto domains = params.find("catalyst/pillion/domains");
  const auto domain = domains ? domains->find(key.channel.c_str()) : std::nullopt;
  if (domain) attempt([&] { out = read_domain(*domain); });
  return out;
}

// Where every rank has given a domain at first, no rank waits for others.
void Adapter::set_domains(const Node& params, const Description& description) {
  for (const auto& [key, mesh] : sharing_->plan().meshes) {
    if (mesh.kind != PILLION_PARTICLES) continue;
    auto domain = given_domain(params, key);
    if (!given_by_all_.contains(key)) {
      const auto agreed = agree_on_domain(domain, bounds_of(key, description), comm_);
      domain = agreed.domain;
      if (agreed.is_given_by_all) given_by_all_.insert(key);
    }
    attempt([&] {
      if (!domain)
        refuse(fmt::format("'catalyst/pillion/domains/{}' is missing, and was there at first",
                           key.channel));
      check(pillion_set_domain(session_, mesh.name.c_str(), &*domain));
    });
  }
}

// What fails on one rank alone is a warning there, and the rank still comes to where others wait.
std::vector<std::string> Adapter::share(const Node& params, const Description& description) {
  for (const auto& [name, value] : scalars_of(params))
    attempt([&, &name = name, &value = value] {
      check(pillion_set_scalar(session_, name.c_str(), value));
    });
  set_domains(params, description);
  std::vector<std::string> faults;
  attempt([&] { faults = sharing_->share(description, used_fields()); });
  return faults;
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
  Facts wrong;
  for (const auto& text : share(params, description)) wrong.faults.insert({{}, "", text});
  wrong = agree(std::move(wrong), comm_);
  if (!wrong.faults.empty()) throw Error(ErrorCode::Sharing, wrong.faults.begin()->text);
  check_agreed(pillion_step(session_, at.step, at.time));
  is_off_ = false;
}

void Adapter::later_step(const Node& params, const StepAndTime& at) {
  int32_t is_due = 0;
  check(pillion_is_due(session_, at.step, at.time, &is_due));
  if (is_due == 0) return;
  for (const auto& fault : share(params, description_of(params))) warn_once(fault);
}

void Adapter::execute(const Node& params) {
  if (session_ == nullptr || is_off_) return;
  StepAndTime at{next_, static_cast<double>(next_)};
  attempt([&] { at = read_step(params, next_); });
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
  // MPI_Finalize has closed the session of a program that is as late.
  if (is_mpi_finalized()) return;
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (session_ != nullptr) check(pillion_close(std::exchange(session_, nullptr)));
}

void Adapter::results(const ConduitApi& api, RawNode* params) {
  if (session_ == nullptr || sharing_ == nullptr || is_off_) return;
  pillion_progress progress{};
  check(pillion_get_progress(session_, &progress));
  put_progress(progress, api, params);
  // Every rank gets what rank 0 read, so ranks cannot differ.
  std::string mine = "{}";
  if (rank_ == 0) attempt([&] { mine = last_rows(pillion_report_path(session_)); });
  put_rows(broadcast(mine, comm_), api, params);
}

}  // namespace pillion::catalyst
