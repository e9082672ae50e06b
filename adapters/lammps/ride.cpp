// SPDX-License-Identifier: BSD-3-Clause
// Opening a session with LAMMPS's catalogue, and closing it on the ways out.
#include "ride.hpp"

#include <memory>

#include "catalogue.hpp"

namespace pillion::lammps {

/// The rides of this process. Destroyed at exit, or when the plug-in that holds it is unloaded.
struct OpenRides {
  std::vector<Ride*> rides;
  ~OpenRides() {
    for (Ride* ride : rides) ride->let_go();
  }
};

namespace {

OpenRides open_rides;
Ride* ride_of_process = nullptr;

using Options = std::unique_ptr<pillion_options, void (*)(pillion_options*)>;

Options make_options(const RideOptions& wanted) {
  pillion_options* raw = nullptr;
  check(pillion_options_create(&raw));
  Options options(raw, &pillion_options_free);
  check(pillion_options_set_catalogue(raw, catalogue_text()));
  check(pillion_options_set_role(raw, wanted.role));
  if (!wanted.restart.empty()) check(pillion_options_set_restart(raw, wanted.restart.c_str()));
  for (const auto& [name, value] : wanted.settings)
    check(pillion_options_set(raw, name.c_str(), value.c_str()));
  return options;
}

}  // namespace

Ride* Ride::of_process() { return ride_of_process; }
void Ride::set_of_process(Ride* ride) { ride_of_process = ride; }

Ride::Ride(const RideOptions& wanted, MPI_Comm comm) {
  const Options options = make_options(wanted);
  if (pillion_open_with(wanted.file.c_str(), comm, options.get(), &session_) != PILLION_OK)
    throw Reported(pillion_error_message());
  open_rides.rides.push_back(this);
}

Ride::~Ride() {
  let_go();
  std::erase(open_rides.rides, this);
}

void Ride::let_go() noexcept {
  int finalized = 0;
  MPI_Finalized(&finalized);
  // A failure can no longer be reported; the library has written it to its log.
  if (finalized == 0) pillion_close(std::exchange(session_, nullptr));
}

bool Ride::serve() {
  if (pillion_serve(session_) == 0) return false;
  session_ = nullptr;
  return true;
}

void Ride::close() {
  if (session_ == nullptr) return;
  report_ = pillion_report_path(session_);
  check(pillion_close(std::exchange(session_, nullptr)));
}

}  // namespace pillion::lammps
