// SPDX-License-Identifier: BSD-3-Clause
// The marker in an output folder, a small text that names the run and its entries in the folder.
// Parses and compares; run_folder.hpp locks, moves and writes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/process.hpp"

namespace pillion::run {

constexpr const char* marker_name = ".pillion-run";
/// The file with the meshes and fields that the program declares itself, and how it begins.
constexpr const char* catalogue_name = "catalogue.yaml";
constexpr const char* catalogue_head = "# pillion: catalogue 1";

/// What a marker says of a run.
struct RunMarker {
  std::string id;                      ///< 16 hexadecimal digits; "" if only its reports are known
  std::vector<std::string> continues;  ///< ids of the runs whose results it continues
  std::string host, started, ended;    ///< `ended` is "" if the run did not report it
  node::Token process = 0;             ///< 0 if it is not known
  uint64_t pid_namespace = 0;        ///< in which the process has that number; 0 if it is not known
  std::vector<std::string> folders;  ///< of analyses, and of no one else
  std::string boot;                  ///< of the machine, as node::boot_id() has it
};

std::string format_mark(const RunMarker& mark);
/// Nothing if the text is not a marker. Lines that are cut off or not known are passed over.
std::optional<RunMarker> parse_mark(const std::string& text);

/// What lies in a folder before a run takes it.
struct FolderState {
  std::optional<RunMarker> mark;
  bool is_live =
      false;  ///< its run is still active, as far as can be seen; not known to folder_state
  std::vector<std::filesystem::path> entries;  ///< of the earlier run, by name; without the marker
  bool has_results = false;                    ///< there is something worth keeping among them
};

/// What `marker`, the text of the marker, and the entries of a folder say.
FolderState folder_state(const std::filesystem::path& folder, const std::string& marker);

/// Whether an entry of an output folder is one that an active run has, and that a killed run leaves
/// behind.
bool is_leftover(const std::string& name);
/// The same of an entry of the folder of an analysis.
bool is_unfinished_product(const std::string& name);
/// Whether a file has a text within the first bytes of it.
bool begins_with(const std::filesystem::path& path, std::string_view text);
/// Whether there is a file, or a folder with something in it.
bool has_something(const std::filesystem::path& path);

}  // namespace pillion::run
