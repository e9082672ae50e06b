// SPDX-License-Identifier: BSD-3-Clause
// A run's hold on its output folder. A small file there, the marker, names the run that the folder
// belongs to and which of its entries are that run's. A process that writes for the run keeps the
// marker locked, so that no second run writes there meanwhile. Results of an earlier run are moved
// aside, and files that are not Pillion's stay where they are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/configuration.hpp"

namespace pillion::run {

struct FolderState;
struct RunMarker;

/// What a run wants of its output folder.
struct FolderClaim {
  std::filesystem::path folder;
  uint64_t run = 0;
  model::IfExists if_exists = model::IfExists::KeepAside;
  std::vector<std::string> analyses;
  bool resumes = false;                   ///< from a checkpoint
  std::vector<std::string> resumed_runs;  ///< ids of the runs that made it; empty if not known
};

/// Looks, and changes nothing. A folder that is not there is empty.
FolderState look_at_folder(const std::filesystem::path& folder);

/// The id of the run that the folder belongs to, or did; "" if it has no marker.
std::string marked_id(const std::filesystem::path& folder);

/// What becomes of what is in the output folder if a run starts now, in words for people; "" if
/// there is nothing. Throws ErrorCode::Configuration if the run would be refused for it.
std::string judge_folder(const model::Configuration& configuration);

/// Whether a run that makes this claim continues the results in the folder.
bool continues(const FolderClaim& claim, const RunMarker& mark);

/// A run's number as products and messages have it.
std::string id_of(uint64_t run);

class RunFolder {
 public:
  RunFolder() = default;
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&& other) noexcept;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  /// Makes the folder, locks it, and clears it of an earlier run's results as the claim says. By
  /// one rank. Throws ErrorCode::State if another run writes there, or if there are results and
  /// the claim is to refuse these; ErrorCode::File if they cannot be moved.
  static RunFolder take(const FolderClaim& claim);
  /// The same hold for one who writes for a run from another job, with folders of its own analyses.
  /// By one rank.
  static RunFolder join(const std::filesystem::path& folder, uint64_t run,
                        const std::vector<std::string>& analyses);

  /// Keeps what the program declares itself, as YAML, for `pillion check --catalogue`. Nothing if
  /// a file of that name is someone else's. Throws ErrorCode::File.
  static void write_catalogue(const std::filesystem::path& folder, const std::string& yaml);

  /// Ids of the runs whose results this one continues.
  [[nodiscard]] const std::vector<std::string>& continued() const { return continued_; }
  /// What people should know: of an earlier run's results, and of what could not be done.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// Lets others have the folder. `ended`: notes in the marker that the run is over.
  void release(bool ended) noexcept;

 private:
  explicit RunFolder(int marker) : marker_(marker) {}
  /// Continues the run that the folder is of, or moves its results aside. Folders of its analyses
  /// if it is continued.
  std::vector<std::string> succeed(const FolderClaim& claim, const FolderState& state);
  void clear(const FolderClaim& claim, const FolderState& state);
  /// Folders that belong to the run alone. Warns of folders with other content.
  std::vector<std::string> own_folders(const std::filesystem::path& folder,
                                       const std::vector<std::string>& analyses,
                                       const std::vector<std::string>& known);

  int marker_ = -1;  ///< file descriptor
  std::vector<std::string> continued_, remarks_, warnings_;
};

}  // namespace pillion::run
