// SPDX-License-Identifier: BSD-3-Clause
// `fix ID group pillion`: offers LAMMPS's atoms to a Pillion session, step after step. The session
// is the one that pillion-lmp opened for the process, or, where the fix is a plug-in, one that the
// fix opens from the file named by its keyword `config`. It changes nothing in LAMMPS.
//
// As a global vector it gives publications, skipped publications, publications that sidecars have
// not finished, and seconds spent waiting for sidecars.
#pragma once

#include <memory>

#include "computed_values.hpp"
#include "lammps_headers.hpp"
#include "options.hpp"
#include "progress_line.hpp"
#include "shared_atoms.hpp"

namespace pillion::lammps {

class FixPillion : public LAMMPS_NS::Fix {
 public:
  FixPillion(LAMMPS_NS::LAMMPS* lmp, int argc, char** argv);
  ~FixPillion() override;

  int setmask() override;
  void init() override;
  void setup(int) override;
  void min_setup(int) override;
  void end_of_step() override;
  void post_run() override;
  void write_restart_file(const char* file) override;
  double compute_vector(int index) override;

  /// Whether a fix of this process has offered a step.
  [[nodiscard]] static bool has_stepped() { return has_stepped_; }

 private:
  void fail(const std::string& message);
  void turn_off(const std::string& reason);
  void warn(const std::string& message);
  void define();
  void open();
  void ready();
  void continue_time();
  void offer();
  void share_atoms();
  void share();
  void announce_next();
  [[nodiscard]] double time() const;
  template <class F>
  void require(F&& body);
  template <class F>
  void attempt(F&& body);

  FixOptions options_;
  std::unique_ptr<Ride> own_;  ///< where the fix opened the session itself
  Ride* ride_ = nullptr;
  SharedAtoms atoms_;
  ComputedValues values_;
  ProgressLine progress_;
  bool ready_ = false;
  bool has_warned_ = false;                 ///< of values that could not be had
  bool off_ = false;                        ///< something has failed: nothing is shared any more
  static inline bool has_stepped_ = false;  ///< see has_stepped()
  LAMMPS_NS::bigint offered_ = -1;          ///< the step offered last
};

/// For LAMMPS's table of fixes.
LAMMPS_NS::Fix* create_fix(LAMMPS_NS::LAMMPS* lmp, int argc, char** argv);

}  // namespace pillion::lammps
