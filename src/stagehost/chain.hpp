// SPDX-License-Identifier: BSD-3-Clause
// The part of an analysis that runs on one side of the cut: its stages, one after the other, on one
// set of peers. A publication at which a rank fails is a failure on every rank.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "stagehost/publication.hpp"
#include "stagehost/scalar_series.hpp"
#include "stagehost/sink.hpp"

struct pillion_setup;
struct pillion_state;

namespace pillion::model {
struct AnalysisSpec;
struct StageSpec;
}  // namespace pillion::model

namespace pillion::stagehost {

struct Movers;
class Plugin;
struct StateRanks;

/// One stage of a plug-in, alive.
class StageInstance {
 public:
  /// Loads and creates a stage; what it produces is added to `catalogue`, and the products that it
  /// declares to `products`, which has those of the stages before it.
  StageInstance(const model::StageSpec& spec, model::Catalogue& catalogue,
                std::vector<DeclaredProduct>& products);
  StageInstance(StageInstance&& other) noexcept;
  StageInstance& operator=(StageInstance&&) = delete;
  ~StageInstance();

  /// Whether the stages after it see the publication.
  [[nodiscard]] bool run(Publication& publication, const ExecutionContext& context);
  void finish(Publication& publication, const ExecutionContext& context);
  void save(pillion_state& state) const;
  void restore(pillion_state& state);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const pillion_setup& setup() const { return *setup_; }
  /// Those of the configuration and defaults, as JSON.
  [[nodiscard]] const std::string& parameters() const { return parameters_; }
  /// Publications completed on every peer so far, restarts included.
  [[nodiscard]] int64_t publications() const { return publications_; }
  void count() { ++publications_; }
  /// Whether a failed run leaves what it keeps as it was: it declares that, or has nothing to save.
  /// The same on every peer, after a failure on any. [collective over the peers]
  [[nodiscard]] bool survives_failure(const comm::Communicator& peers) const;
  /// The scalars of the publications that it has seen.
  [[nodiscard]] ScalarSeries& scalars() { return scalars_; }

 private:
  // Count and scalars go with the state of the stage, wherever the cut is when the run resumes.
  void save_own(pillion_state& state) const;
  void restore_own(const pillion_state& state);

  std::string name_;
  std::unique_ptr<Plugin> plugin_;
  std::unique_ptr<pillion_setup> setup_;
  std::string parameters_;
  void* stage_ = nullptr;
  std::vector<Movers> movers_;  ///< by input
  int64_t publications_ = 0;
  ScalarSeries scalars_;
};

/// Name of the folder for the state of a stage, in that of its analysis.
std::string state_name(size_t number, const std::string& stage);

/// What a stage takes of memory follows from this and from the number of its peers.
struct StageNeeds {
  std::string stage;
  std::vector<layout::Request> inputs;
  std::vector<std::string> outputs;  ///< fields
  double per_input_byte = 0;         ///< beside inputs and outputs, for each byte of the inputs
  int64_t bytes = 0;                 ///< and besides
};

class Chain {
 public:
  /// Creates stages [begin, end) of an analysis. The catalogue is the chain's own, for it gains the
  /// fields that stages produce. `products` holds what the stages before `begin` declare.
  Chain(const model::AnalysisSpec& analysis, size_t begin, size_t end, model::Catalogue catalogue,
        std::vector<DeclaredProduct> products = {});
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// Works on a publication, up to a stage that withholds it. The result is the same on every peer.
  /// [collective over the peers]
  std::optional<Error> run(const Publication& publication, ExecutionContext context);
  /// The same, keeping the fields that were produced, for callers that need them.
  std::optional<Error> run_in_place(Publication& publication, ExecutionContext context);
  /// Has every stage that completed a publication write its products. Returns the first failure.
  std::optional<Error> finish(ExecutionContext context);
  /// Whether what the stages keep is as it was before the publication that failed last.
  [[nodiscard]] bool is_unharmed() const { return unharmed_; }
  /// Publications that failed since the last one that did not, for other reasons than what the
  /// program shared.
  [[nodiscard]] int64_t failures_in_row() const { return failures_; }
  /// Whether a stage kept the last publication from those after it.
  [[nodiscard]] bool withheld() const { return withheld_; }

  /// State of stage i is in FOLDER/stage-i. These throw the same error on every peer. [collective
  /// over the peers]
  void save(const std::filesystem::path& folder, const StateRanks& ranks, size_t first_stage,
            bool durable) const;
  void restore(const std::filesystem::path& folder, const comm::Communicator& peers,
               size_t first_stage);

  /// Fields that must come from outside, and fields that stages produce here.
  [[nodiscard]] std::set<std::string> needed() const;
  /// The first stage that coarse publications are of no use to; "" if there is none.
  [[nodiscard]] std::string whole_for() const;
  /// The layouts that stages ask for, in their order.
  [[nodiscard]] std::vector<layout::LayoutRequest> layout_requests() const;
  [[nodiscard]] std::vector<model::Field> produced() const;
  /// Of every stage, in their order.
  [[nodiscard]] std::vector<StageNeeds> needs_of_memory() const;
  /// Products that stages declare, up to the last of the chain.
  [[nodiscard]] const std::vector<DeclaredProduct>& products() const { return products_; }
  [[nodiscard]] model::Catalogue& catalogue() { return catalogue_; }
  /// Publications worked on so far, restarts included.
  [[nodiscard]] int64_t publications() const {
    return stages_.empty() ? 0 : stages_.front().publications();
  }

 private:
  /// The needed fields that the program shares.
  [[nodiscard]] std::set<std::string> shared_fields() const;
  bool run_stage(StageInstance& stage, Publication& publication, ExecutionContext& context) const;
  std::optional<Error> run_stages(Publication& publication, ExecutionContext& context);

  model::Catalogue catalogue_;
  std::vector<DeclaredProduct> products_;
  std::vector<StageInstance> stages_;
  size_t first_ = 0;  ///< number of the first stage in the analysis
  int64_t products_every_ = 0;
  int64_t failures_ = 0;
  bool withheld_ = false;
  bool unharmed_ = true;
};

}  // namespace pillion::stagehost
