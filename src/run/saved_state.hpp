// SPDX-License-Identifier: BSD-3-Clause
// The state of analyses on disk. A checkpoint, the state that sidecars of another job leave for
// their successors, and an analysis that migrates all have one form: a folder with the states of
// stages, a folder for each analysis, and a manifest, which is written last. So a folder with a
// manifest is complete.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "run/agenda.hpp"
#include "run/chains.hpp"
#include "run/summary.hpp"

namespace pillion::run {

struct SavedAnalysis {
  ScheduleState schedule{};
  Counts counts{};       ///< in a checkpoint: since the run first began
  CostCounters costs{};  ///< counted so far by the sidecars that saved it
  int64_t over = 0;      ///< publications that sidecars had finished or lost
  int64_t earlier = 0;   ///< publications of earlier runs that the stages include
  int64_t missing = 0;   ///< publications lost in sidecars, before a migration
  std::map<std::string, std::string> meshes{};  ///< in a checkpoint: what they are, by name
  std::vector<stagehost::Product> products{};   ///< listed by the side that saved it
};

struct SavedState {
  int64_t step = 0;
  double time = 0;
  int64_t offset = 0;             ///< what was added to the program's steps
  int64_t generation = 0;         ///< of two states of one run, the larger is the newer
  StepCounts steps{};             ///< in a checkpoint: since the run first began
  std::vector<std::string> runs;  ///< ids of the run that saved it and of the runs it continued
  std::map<std::string, SavedAnalysis> analyses;
};

constexpr const char* manifest_name = "manifest.yaml";

std::string format_manifest(const SavedState& state);
/// Throws ErrorCode::Configuration if the text is not a manifest of this version, and
/// ErrorCode::File if it is damaged.
SavedState parse_manifest(const std::string& text, const std::string& file);
/// Completes a folder. By one rank, when all ranks have written their states.
void write_manifest(const std::filesystem::path& folder, const SavedState& state, bool durable);
/// Throws as parse_manifest does, or ErrorCode::File.
SavedState read_manifest(const std::filesystem::path& folder);

/// Begins a checkpoint by the simulation: makes the folder in which it is written until it is
/// whole. `sidecars_answer`: on this rank, if there are any. Throws the same error on every rank.
/// [collective over the side]
void begin_checkpoint(const Run& run, const std::filesystem::path& path, bool sidecars_answer);
/// Adds what sidecars know of their analyses to a checkpoint that is being written. By their first
/// rank, when all have saved their stages.
void write_sidecars_part(const Run& run, const std::filesystem::path& written);
/// The same in memory; nothing if sidecars have written none.
std::optional<SavedState> read_sidecars_part(const std::filesystem::path& written);

/// What the first simulation rank knows of a run for a checkpoint.
struct CheckpointScope {
  const Agenda& agenda;
  size_t analyses = 0;  ///< the run's own, which come first
  StepCounts steps;
  std::vector<std::set<std::string>> fields{};  ///< by analysis: what it needs
};
/// What the checkpoint says. `sidecars` is their part.
SavedState state_of(const Run& run, const CheckpointScope& scope,
                    const std::optional<SavedState>& sidecars);
/// Completes it, in its place. `scope` is asked on the first rank alone. Throws the same error on
/// every rank. [collective over the side]
void finish_checkpoint(const Run& run, const std::filesystem::path& path,
                       const std::function<CheckpointScope()>& scope);

/// Where a checkpoint is: at its place, or beside it, where a run left it that was killed while it
/// replaced one.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);
/// What a run that resumes from a state takes over, of the analyses in `restored`.
Earlier earlier_in(const SavedState& state, const model::Configuration& configuration,
                   const std::set<std::string>& restored);
/// Throws ErrorCode::Configuration if an analysis in `restored` used another mesh than the
/// configuration has.
void check_meshes(const SavedState& state, const model::Catalogue& catalogue,
                  const std::set<std::string>& restored);

/// The state that sidecars of another job leave for their successors, in the output folder: two
/// folders that are written in turn, so that one is complete whenever the sidecars die.
class SuccessorState {
 public:
  /// `run` tells runs apart that share an output folder.
  SuccessorState(const std::filesystem::path& output, uint64_t run);

  /// The newest complete state, which is in folder(); nothing if there is none. One that is damaged
  /// does not hide the other. Throws the error of one if none can be read.
  [[nodiscard]] std::optional<SavedState> read();
  [[nodiscard]] std::filesystem::path folder() const;
  /// Where the next state is written.
  [[nodiscard]] std::filesystem::path next_folder() const;
  /// Completes the state in next_folder(). By one rank.
  void complete(SavedState state);
  /// By all other ranks.
  void complete_elsewhere() { ++generation_; }
  /// Removes a node's files from next_folder(), or all its files. By one rank of the node, whose
  /// number its files have; so that no rank removes the files of all nodes.
  void remove_files_in_next(int node) const;
  void remove_files(int node) const;
  /// Removes what is left in next_folder(). By one rank, after all nodes.
  void clear_next() const;
  /// Removes everything that is left. By one rank, after all nodes.
  void remove() const noexcept;

 private:
  std::filesystem::path root_;
  int64_t generation_ = 0;  ///< of the newest complete state; 0 if there is none
};

/// The folder of the `number`-th migration of an analysis.
std::filesystem::path migration_folder(const Run& run, size_t analysis, int64_t number);
/// Saves an analysis that leaves this side; `missing` publications of it are lost so far. Throws
/// the same error on every rank, and then nothing has changed. [collective over the side]
void save_for_migration(Run& run, const stagehost::Chain& chain, size_t analysis,
                        const std::filesystem::path& folder, int64_t missing);
/// Whether an analysis is completely saved there. [collective over the side]
bool is_saved(const Run& run, const std::filesystem::path& folder);
struct Migrated {
  std::unique_ptr<stagehost::Chain> chain;  ///< the stages behind the cut
  int64_t missing = 0;
};
/// Reads an analysis that comes to this side, and removes the folder. Throws the same error on
/// every rank. [collective over the side]
Migrated restore_migrated(Run& run, size_t analysis, const ProducedFields& produced,
                          const std::filesystem::path& folder);
/// Removes the folders of migrations at the end of a run. By one rank. The next run that takes the
/// output folder removes those of a killed run.
void remove_migration_folders(const Run& run);

}  // namespace pillion::run
