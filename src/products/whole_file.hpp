// SPDX-License-Identifier: BSD-3-Clause
// Files and folders that are whole or absent: written aside, then renamed into place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace pillion::products {

/// Writes a file whole, and makes the folders above it. `durable` waits until it is on disk, so
/// that it outlives the machine and not only the process; that may take long. Throws
/// ErrorCode::File; the old file, if there was one, then still stands.
void write_whole(const std::filesystem::path& path, std::string_view content, bool durable);

/// A file that is written aside, by one rank or by several, and removed unless it is put in place.
class WholeFile {
 public:
  /// Makes an empty file aside, and the folders above `path`. Throws ErrorCode::File, as all do.
  explicit WholeFile(std::filesystem::path path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();
  void write(std::string_view content) const;
  /// Gives it its name; see write_whole() for `durable`.
  void finish(bool durable);

 private:
  std::filesystem::path path_;
  int file_;
  bool kept_ = false;
};

/// Writes a part of a WholeFile that was made, by this process or another, at an offset in
/// bytes.
void write_part(const std::filesystem::path& path, std::string_view content, int64_t offset);

/// A descriptor of a new file to write. What lies there under its name, such as a symbolic link, is
/// unlinked, and never opened or followed. Throws ErrorCode::File.
int open_new(const std::filesystem::path& path);

/// The name under which `path` is written until it is whole.
std::filesystem::path aside(const std::filesystem::path& path);

/// The name of an older folder for the moment in which a new one gets its place, where the file
/// system cannot exchange names.
std::filesystem::path replaced(const std::filesystem::path& path);

/// Waits until the entries of a folder are on disk.
void sync_folder(const std::filesystem::path& path);
/// The same for it and all folders below it.
void sync_folders(const std::filesystem::path& path);

/// Puts a folder that was written aside, and is on disk, in its place; an older one of that name is
/// removed when that is on disk. At every moment one of the two is whole, and found by
/// find_whole_folder().
void put_folder_in_place(const std::filesystem::path& path);
/// Where the folder is that belongs at `path`: there, or where a process left it that was killed
/// while it put one in place. A folder is whole if it has `last_file`. `path` if none is.
std::filesystem::path find_whole_folder(const std::filesystem::path& path,
                                        const std::string& last_file);
/// Puts such a folder in its place, so that nothing that is written or removed aside destroys it.
void recover_folder(const std::filesystem::path& path, const std::string& last_file);

/// Removes a folder that was written aside and did not become whole.
void discard_folder_aside(const std::filesystem::path& path);

/// Makes a folder and those above it.
void make_folder(const std::filesystem::path& path);

/// The whole of a file; throws ErrorCode::File if it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// A file for base::parse_yaml: of a file that is longer than this takes, only so much is read that
/// it is refused. Throws as read_file does.
std::string read_yaml_file(const std::filesystem::path& path);

}  // namespace pillion::products
