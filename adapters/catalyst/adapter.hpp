// SPDX-License-Identifier: BSD-3-Clause
// A run of Pillion behind the calls of Catalyst. The session opens with catalyst_initialize, in two
// phases: the first catalyst_execute shows which meshes there are.
#pragma once

#include <mpi.h>
#include <pillion/pillion.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <pillion/error.hpp>
#include <set>
#include <string>
#include <vector>

#include "options.hpp"
#include "sharing.hpp"

namespace pillion::catalyst {

/// A failure that has been printed.
class Reported : public Error {
 public:
  using Error::Error;
};

class Adapter {
 public:
  /// Opens the session. [collective over the simulation's ranks] Throws Error, the same on every
  /// rank.
  explicit Adapter(const Options& options);
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  ~Adapter();

  /// Offers a step. [collective] Throws Error, the same on every rank, if the session cannot begin;
  /// after the first step never.
  void execute(const Node& params);
  /// Ends the session. [collective]
  void finalize();
  /// Puts progress and the last rows of tables into the node of catalyst_results. [collective]
  void results(const ConduitApi& api, RawNode* params);
  /// Among the simulation's ranks.
  [[nodiscard]] int rank() const { return rank_; }
  /// Whether it has begun MPI, for a program that does without.
  [[nodiscard]] bool owns_mpi() const { return owns_mpi_; }

 private:
  void first_step(const Node& params, const StepAndTime& at);
  /// Shares what is due. [collective]
  void later_step(const Node& params, const StepAndTime& at);
  /// Scalars, domains and fields. Returns a sentence for each thing that does not fit. [collective]
  std::vector<std::string> share(const Node& params, const Description& description);
  /// For what may fail on one rank, or after the first step, which is a warning.
  template <class F>
  void attempt(F&& body);
  /// Makes the catalogue of what all ranks have. False if none has a mesh. [collective]
  bool begin(const Node& params, const Description& description);
  /// By the names that the catalogue has.
  [[nodiscard]] std::map<std::string, double> scalars_of(const Node& params);
  [[nodiscard]] std::optional<pillion_domain> given_domain(const Node& params, const Key& key);
  void set_domains(const Node& params, const Description& description);
  void warn_once(const std::string& text);
  [[nodiscard]] std::set<std::string> used_fields() const;

  int64_t levels_ = 1;
  MPI_Comm comm_ = MPI_COMM_NULL;  ///< the simulation's ranks, for messages of the adapter
  int rank_ = 0;
  pillion_session* session_ = nullptr;
  std::unique_ptr<Sharing> sharing_;  ///< none before the first execute
  bool is_off_ = false;               ///< after a failure
  int64_t next_ = 0;                  ///< the step if the simulation gives none
  std::set<std::string> warned_;
  std::set<Key> given_by_all_;  ///< meshes of particles whose domain every rank has given
  bool owns_mpi_ = false;
};

/// A warning on standard error, in the form that the library's own have.
void warn(const std::string& text);

}  // namespace pillion::catalyst
