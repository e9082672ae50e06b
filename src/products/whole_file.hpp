// SPDX-License-Identifier: BSD-3-Clause
// Files and folders that are whole or absent: written aside, then renamed into place.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace pillion::products {

/// Writes a file whole, and makes the folders above it. `durable` waits until it is on disk, so
/// that it outlives the machine and not only the process; that may take long. Throws
/// ErrorCode::File; the old file, if there was one, then still stands.
void write_whole(const std::filesystem::path& path, std::string_view content, bool durable);

/// A file that is written piece by piece, and is there when it is finished. Throws as write_whole.
class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  /// Leaves nothing if the file was not finished.
  ~WholeFile();
  void write(std::string_view content) const;
  void finish(bool durable);

 private:
  std::filesystem::path path_, aside_;
  int file_ = -1;
  bool is_finished_ = false;
};

/// The name under which `path` is written until it is whole.
std::filesystem::path aside(const std::filesystem::path& path);

/// Puts a folder that was written aside in its place; an older one of that name gives way.
void put_folder_in_place(const std::filesystem::path& path);

/// Removes a folder that was written aside and did not become whole.
void discard_folder_aside(const std::filesystem::path& path) noexcept;

/// Makes a folder and those above it.
void make_folder(const std::filesystem::path& path);

/// The whole of a file; throws ErrorCode::File if it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// A file for base::parse_yaml: of a file that is longer than this takes, only so much is read that
/// it is refused. Throws as read_file does.
std::string read_yaml_file(const std::filesystem::path& path);

}  // namespace pillion::products
