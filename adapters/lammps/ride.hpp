// SPDX-License-Identifier: BSD-3-Clause
// A session of LAMMPS, closed whatever happens. Where LAMMPS ends a failed run by calling
// MPI_Finalize and exit from deep inside, the library closes what is open. A LAMMPS with plug-ins
// waits for all other programs before that, sidecars included, but first unloads its plug-ins: then
// rides that are still open are closed.
#pragma once

#include <pillion/pillion.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pillion::lammps {

/// Turns a status of the C interface into an exception, so that the adapter's functions need not
/// hand statuses on; the fix turns the exception into an error or a warning of LAMMPS.
inline void check(pillion_status status) {
  if (status != PILLION_OK) throw std::runtime_error(pillion_error_message());
}

/// A failure that the session has reported on standard error.
struct Reported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How a session is opened.
struct RideOptions {
  std::string file;                                           ///< the YAML file
  std::vector<std::pair<std::string, std::string>> settings;  ///< values of $name in it
  std::string restart;  ///< the checkpoint to resume from; "" for a new run
  pillion_role role = PILLION_ROLE_ANY;
};

class Ride {
 public:
  /// Opens a session with LAMMPS's catalogue. [collective over comm] Throws std::runtime_error,
  /// the same on every rank: Reported if it is about the YAML file.
  Ride(const RideOptions& options, MPI_Comm comm);
  Ride(const Ride&) = delete;
  Ride& operator=(const Ride&) = delete;
  ~Ride();

  /// On a sidecar rank works until the simulation has ended, and returns true.
  [[nodiscard]] bool serve();
  /// NULL once the session has closed.
  [[nodiscard]] pillion_session* session() const { return session_; }
  [[nodiscard]] MPI_Comm communicator() const { return pillion_communicator(session_); }
  /// Path of the run report, once the session has closed.
  [[nodiscard]] const std::string& report() const { return report_; }
  /// Ends the session. [collective over the simulation ranks] Throws std::runtime_error.
  void close();

  /// Added to LAMMPS's time; none before the first step. See FixPillion::continue_time.
  std::optional<double> added_time;

  /// The ride that the program around LAMMPS has opened for this process; NULL if there is none.
  static Ride* of_process();
  static void set_of_process(Ride* ride);

 private:
  friend struct OpenRides;
  void let_go() noexcept;
  pillion_session* session_ = nullptr;
  std::string report_;
};

}  // namespace pillion::lammps
