// SPDX-License-Identifier: BSD-3-Clause
// Everything for a program over AMReX's class Amr: the state and all derived variables of its
// levels become fields by their names, with the meshes and levels of its inputs. Derived variables
// are computed only at steps at which an analysis that uses them is due. Checkpoints of the
// analyses go beside AMReX's, and a run that restarts from one resumes them.
//
//     pillion::amrex::AmrSession pillion(argc, argv);     // initialises MPI, if need be
//     if (pillion.is_sidecar()) return 0;
//     amrex::Initialize(argc, argv, true, pillion.communicator());
//     …  amr->init(…);
//     pillion.offer(*amr);                                 // and after every coarseTimeStep
//
// A run whose inputs do not name a file (`pillion.file = FILE`) is one without Pillion. Destroy the
// object after amrex::Finalize; it finalises MPI if it initialised it.
#pragma once

#include <AMReX_Amr.H>
#include <AMReX_AmrLevel.H>
#include <AMReX_ParmParse.H>
#include <AMReX_Utility.H>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <pillion/amrex.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pillion::amrex {

/// One session, from before amrex::Initialize until after amrex::Finalize. What is wrong before the
/// first step ends the job with a message; later failures are reported and end nothing.
class AmrSession {
 public:
  /// Fills one component of a MultiFab without ghost cells on one level.
  using Compute = std::function<void(::amrex::AmrLevel&, ::amrex::MultiFab&)>;
  using Publish = std::function<void(Session&)>;

  /// [collective over comm] Sidecars work here, and return when the run has ended.
  AmrSession(int& argc, char**& argv, MPI_Comm comm = MPI_COMM_NULL) : comm_(comm) {
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    owns_mpi_ = is_initialized == 0;
    if (owns_mpi_) MPI_Init(&argc, &argv);
    if (comm_ == MPI_COMM_NULL) comm_ = MPI_COMM_WORLD;
    guard([&] { open(argc, argv); });
  }
  AmrSession(const AmrSession&) = delete;
  AmrSession& operator=(const AmrSession&) = delete;
  ~AmrSession() {
    if (session_ && session_->is_open()) static_cast<void>(close());
    session_.reset();
    if (owns_mpi_) MPI_Finalize();
  }

  /// Whether this rank was a sidecar, and has done its work.
  [[nodiscard]] bool is_sidecar() const { return is_sidecar_; }
  /// Whether the inputs name a file.
  [[nodiscard]] bool is_active() const { return session_ && session_->is_open(); }
  /// Of the simulation, for amrex::Initialize.
  [[nodiscard]] MPI_Comm communicator() const {
    return is_active() ? session_->communicator() : comm_;
  }
  [[nodiscard]] Session& session() { return *session_; }

  // Before the first offer.

  /// Name and units of the mesh of all levels; `grid` without units otherwise.
  void mesh(const std::string& name, const MeshOptions& options) {
    mesh_ = name;
    mesh_options_ = options;
  }
  /// Units of a field or a scalar, by name; names that the program lacks are left out.
  void units(const std::string& name, const std::string& units) { units_[name] = units; }
  /// A vector that consists of fields, left out if one of these does not exist.
  void vector(const std::string& name, const std::vector<std::string>& components) {
    vectors_.emplace_back(name, components);
  }
  /// A field that the program's list of derived variables lacks.
  void derive(const std::string& name, Compute compute) {
    extra_.emplace_back(name, std::move(compute));
  }
  /// What else the catalogue has, such as particles and scalars, and what shares it at a step that
  /// is due.
  void add(const std::function<void(Catalogue&)>& declare, Publish share) {
    declare_.push_back(declare);
    publish_.push_back(std::move(share));
  }

  /// Offers the step that a program has reached. The time is AMReX's, unless it is given.
  /// [collective]
  void offer(::amrex::Amr& amr, std::optional<double> time = std::nullopt) {
    if (!is_active()) return;
    guard([&] { offer_step(amr, time ? *time : amr.cumTime()); });
  }

  /// Waits until sidecars have finished, and writes the report; the destructor does it otherwise.
  /// False if that failed, which is reported. [collective]
  bool close() noexcept {
    try {
      if (is_active()) session_->close();
      return true;
    } catch (const std::exception& error) {
      report(LogLevel::Error, error.what());
      return false;
    }
  }

 private:
  /// Fields of one component each that lie in one array of every level.
  struct StateFields {
    int type;
    std::vector<std::string> names;
  };

  [[nodiscard]] bool is_first_rank() const {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank == 0;
  }

  /// As a session without a handler does, and keeps the last error.
  void report(LogLevel level, const std::string& message) {
    if (level < LogLevel::Warning) return;
    const bool is_error = level == LogLevel::Error;
    std::fprintf(stderr, "pillion: %s: %s\n", is_error ? "error" : "warning", message.c_str());
    if (is_error) reported_ = message;
  }

  /// Every rank gets the same error; the first one reports it, unless the session has.
  template <class F>
  void guard(F&& call) {
    try {
      call();
    } catch (const Error& error) {
      if (is_first_rank() && reported_ != error.what()) report(LogLevel::Error, error.what());
      if (session_) static_cast<void>(close());
      if (!owns_mpi_) std::exit(1);
      MPI_Finalize();
      std::fflush(nullptr);
      std::_Exit(1);  // AMReX's static objects would call MPI
    }
  }

  void open(int argc, char** argv) {
    const auto file = input_value(argc, argv, "pillion.file", comm_);
    if (file.empty() && std::getenv("PILLION_CONFIGURATION") == nullptr) return;
    Options options;
    options.deferred().log(
        [this](LogLevel level, const std::string& message) { report(level, message); });
    const auto from = input_value(argc, argv, "amr.restart", comm_);
    if (!from.empty()) {
      if (::amrex::FileExists(from + "/" + saved)) options.restart(from + "/" + saved);
      else if (is_first_rank())
        report(LogLevel::Warning, from + " has no saved analyses, so they start from scratch");
    }
    session_ = Session::open(file.empty() ? "pillion.yaml" : file, comm_, options);
    is_sidecar_ = session_->serve();
  }

  void configure(::amrex::Amr& amr) {
    find_fields();
    Catalogue catalogue;
    ::amrex::Vector<::amrex::IntVect> ratios;
    for (int level = 0; level < amr.maxLevel(); ++level) ratios.push_back(amr.refRatio(level));
    catalogue.mesh(mesh_, amr.Geom(0), ratios, mesh_options_);
    for (const auto& name : names_) catalogue.field(mesh_, name, units_of(name));
    for (const auto& [name, components] : vectors_) {
      bool exists = true;
      for (const auto& component : components) exists = exists && names_.count(component) > 0;
      if (exists) catalogue.vector(name, components, units_of(components.front()));
    }
    for (const auto& declare : declare_) declare(catalogue);
    set_parameters(*session_);
    session_->offer_catalogue(catalogue.text());
    session_->configure();
    is_configured_ = true;
  }

  /// State variables first: a derived variable of the same name is left out, as in plotfiles.
  void find_fields() {
    const auto& descriptions = ::amrex::AmrLevel::get_desc_lst();
    for (int type = 0; type < descriptions.size(); ++type) {
      const auto& description = descriptions[type];
      if (!description.getType().cellCentered()) continue;
      StateFields fields{type, {}};
      bool are_new = true;
      for (int c = 0; c < description.nComp(); ++c) {
        fields.names.push_back(description.name(c));
        are_new = are_new && !fields.names.back().empty() && names_.count(fields.names.back()) == 0;
      }
      if (!are_new) continue;
      names_.insert(fields.names.begin(), fields.names.end());
      state_.push_back(std::move(fields));
    }
    for (const auto& record : ::amrex::AmrLevel::get_derive_lst().dlist()) {
      if (!record.deriveType().cellCentered() || record.numDerive() != 1) continue;
      if (names_.insert(record.name()).second) derived_.push_back(record.name());
    }
    for (const auto& [name, compute] : extra_) names_.insert(name);
  }

  [[nodiscard]] std::string units_of(const std::string& name) const {
    const auto found = units_.find(name);
    return found == units_.end() ? "" : found->second;
  }

  void offer_step(::amrex::Amr& amr, double time) {
    const int64_t step = amr.levelSteps(0);
    const bool is_first = !is_configured_;
    if (is_first) configure(amr);
    // The first step checks that all that analyses use is shared, also if none is due.
    if (is_first || session_->is_due(step, time)) share_all(amr);
    session_->step(step, time);
    unshare_computed();
    if (!is_first && amr.stepOfLastCheckPoint() == step) checkpoint(step);
  }

  void share_all(::amrex::Amr& amr) {
    const auto& geometry = amr.Geom();
    ::amrex::Vector<const ::amrex::MultiFab*> levels;
    for (const auto& fields : state_) {
      if (!uses_any(fields.names)) continue;
      levels.clear();
      for (int level = 0; level <= amr.finestLevel(); ++level)
        levels.push_back(&amr.getLevel(level).get_new_data(fields.type));
      share(*session_, fields.names, levels, geometry);
    }
    for (const auto& name : derived_)
      share_computed(amr, name, [&](::amrex::AmrLevel& level, ::amrex::MultiFab& values) {
        level.derive(name, level.get_state_data(0).curTime(), values, 0);
      });
    for (const auto& [name, compute] : extra_) share_computed(amr, name, compute);
    for (const auto& publish : publish_)
      if (publish) publish(*session_);
  }

  [[nodiscard]] bool uses_any(const std::vector<std::string>& names) const {
    for (const auto& name : names)
      if (session_->uses(name)) return true;
    return false;
  }

  /// Computes a field on all levels if an analysis uses it. All ranks agree on that.
  void share_computed(::amrex::Amr& amr, const std::string& name, const Compute& compute) {
    if (!session_->uses(name)) return;
    ::amrex::Vector<const ::amrex::MultiFab*> levels;
    for (int level = 0; level <= amr.finestLevel(); ++level) {
      computed_.emplace_back(amr.boxArray(level), amr.DistributionMap(level), 1, 0);
      compute(amr.getLevel(level), computed_.back());
      levels.push_back(&computed_.back());
    }
    share(*session_, {name}, levels, amr.Geom());
    computed_names_.push_back(name);
  }

  void unshare_computed() {
    unshare(*session_, computed_names_);
    computed_names_.clear();
    computed_.clear();
  }

  /// Beside AMReX's, in its folder, which is complete now.
  void checkpoint(int64_t step) {
    std::string root = "chk";
    int digits = 5;
    ::amrex::ParmParse inputs("amr");
    inputs.query("check_file", root);
    inputs.query("file_name_digits", digits);
    const auto folder = ::amrex::Concatenate(root, static_cast<int>(step), digits);
    if (!::amrex::FileExists(folder)) return;
    try {
      session_->checkpoint(folder + "/" + saved);
    } catch (const Error& error) {
      if (::amrex::ParallelDescriptor::IOProcessor())
        report(LogLevel::Warning, std::string("the analyses were not saved: ") + error.what());
    }
  }

  static constexpr const char* saved = "pillion";

  MPI_Comm comm_;
  bool owns_mpi_ = false;
  std::string reported_;
  bool is_sidecar_ = false;
  bool is_configured_ = false;
  std::optional<Session> session_;
  std::string mesh_ = "grid";
  MeshOptions mesh_options_;
  std::map<std::string, std::string> units_;
  std::vector<std::pair<std::string, std::vector<std::string>>> vectors_;
  std::vector<std::pair<std::string, Compute>> extra_;
  std::vector<std::function<void(Catalogue&)>> declare_;
  std::vector<Publish> publish_;
  std::vector<StateFields> state_;
  std::vector<std::string> derived_;
  std::set<std::string> names_;
  std::list<::amrex::MultiFab> computed_;  // of this step; a list does not move them
  std::vector<std::string> computed_names_;
};

}  // namespace pillion::amrex
