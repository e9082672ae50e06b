// SPDX-License-Identifier: BSD-3-Clause
// The second phase of opening, for programs that read their inputs with the communicator that the
// first one gives. Sidecars wait for it in serve().
#include "base/default_environment.hpp"
#include "comm/agreement.hpp"
#include "run/report.hpp"
#include "session/session.hpp"
#include "sidecar/sidecar.hpp"
#include "simulation/simulation.hpp"

namespace pillion::session {

using comm::together;

void Session::refuse_offer(const char* what) const {
  if (run_.is_sidecar())
    base::fail(ErrorCode::State, "this rank is a sidecar; it may only call pillion_serve");
  if (failure_) throw *failure_;
  base::fail(ErrorCode::State,
             "the session has its configuration already, so {} comes too late; open it with "
             "pillion_options_set_deferred, and call this before pillion_configure",
             what);
}

void Session::set_parameter(const std::string& name, const std::string& value) {
  if (!is_open_for_offers()) refuse_offer("a parameter");
  offered_.parameters[name] = value;
}

void Session::offer_catalogue(const std::string& yaml) {
  if (!is_open_for_offers()) refuse_offer("a catalogue");
  offered_.catalogue = yaml;
}

// The last rank to come may be minutes late, for it reads the inputs of the program.
bool Session::meet_for_configuration(bool closes) const {
  int32_t mark = closes ? 1 : 0;
  comm::start_maximum(run_.world, &mark, 1).wait_asleep();
  return mark == 0;
}

void Session::compare_offers() const {
  const auto bytes = comm::broadcast_made(run_.side, 0, [&] { return base::to_bytes(offered_); });
  together(run_.side, [&] {
    const auto first = base::from_bytes<Offer>(bytes);
    if (first.catalogue != offered_.catalogue)
      base::fail(ErrorCode::Argument,
                 "simulation rank {} offers another catalogue than the first one; offer the same "
                 "on every rank",
                 run_.side.rank());
    if (first.parameters == offered_.parameters) return;
    for (const auto& [name, value] : first.parameters) {
      const auto mine = offered_.parameters.find(name);
      if (mine == offered_.parameters.end() || mine->second != value)
        base::fail(ErrorCode::Argument,
                   "simulation rank {} sets parameter '{}' to {}, the first one to '{}'; set the "
                   "same on every rank",
                   run_.side.rank(), name,
                   mine == offered_.parameters.end() ? "nothing" : "'" + mine->second + "'", value);
    }
    base::fail(ErrorCode::Argument,
               "simulation rank {} sets parameters that the first one does not; set the same on "
               "every rank",
               run_.side.rank());
  });
}

// The program may come here from its first step, which is not contained as a whole.
void Session::configure() {
  if (simulation_) return;
  const base::DefaultEnvironment environment;
  if (failure_ || !is_open_for_offers()) refuse_offer("pillion_configure");
  try {
    // All ranks meet before any other collective, since a rank that closes makes no other.
    if (!meet_for_configuration(false))
      base::fail(ErrorCode::State, "another rank closes the session instead of configuring it");
    complete(comm::failure_of([&] { compare_offers(); }));
  } catch (const Error& e) {
    failure_ = e;
    run_.folder.release(true);
    if (run_.side.rank() == 0) run_.log.failure("{}", e.what());
    throw;
  }
}

void Session::complete(const std::exception_ptr& failure) {
  int first = 0;
  together(run_.world, [&] { first = run_.ranks_of(topology::Role::Simulation).front(); });
  const auto bytes = comm::broadcast_made(run_.world, first, [&] {
    comm::rethrow(failure);
    auto spec = spec_;
    if (!offered_.catalogue.empty()) spec.catalogue = offered_.catalogue;
    for (const auto& [name, value] : offered_.parameters)
      spec.parameters.insert_or_assign(name, value);
    take_environment(spec);
    return base::to_bytes(spec);
  });
  together(run_.world, [&] {
    spec_ = base::from_bytes<run::RunSpec>(bytes);
    auto configuration = spec_.configuration(sidecars_wanted_);
    if (!(configuration.sidecars == run_.configuration.sidecars))
      base::fail(ErrorCode::Configuration,
                 "'sidecars:' of '{}' changed with the parameters that were set after the session "
                 "was opened, when sidecars were chosen; set these parameters in the options",
                 spec_.file);
    take_configuration(std::move(configuration));
    run_.follow_timeline();
  });
  make_side();
}

}  // namespace pillion::session
