// SPDX-License-Identifier: BSD-3-Clause
// Memory that several processes of a node map: a file in /dev/shm that never has a name, so that
// nothing is left whenever they end, and no other user can open it. A process of the same user that
// knows its maker opens it through /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pillion::node {

/// A stretch of a shared file in this process's memory.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, size_t size) : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }
  /// Gives a part of the memory back to the machine, for everybody who has it mapped: zeros are
  /// left. Whole pages.
  void give_back(size_t offset, size_t size) const noexcept;
  /// Maps the pages of a part at once, which have memory behind them.
  void populate(size_t offset, size_t size) const noexcept;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class SharedFile {
 public:
  SharedFile() = default;
  /// A new file of `size` bytes without memory behind them. `folder` must be on a file system that
  /// knows files without a name. Throws ErrorCode::File.
  static SharedFile make(const std::string& folder, size_t size);
  /// The file that process `number` has as `descriptor`. Throws ErrorCode::File.
  enum class Access { Read, Write };
  static SharedFile open(int number, int descriptor, Access access = Access::Write);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Puts memory behind a stretch, near the calling core. Throws ErrorCode::File if there is none.
  void reserve(size_t offset, size_t size) const;
  /// Makes the file longer, without memory behind the new part, and returns where that begins. Safe
  /// against other processes that do the same. Throws ErrorCode::File.
  [[nodiscard]] uint64_t extend(size_t size) const;
  /// Gives the memory behind a stretch back; what is read there afterwards is 0.
  void release(size_t offset, size_t size) const noexcept;
  /// Copies `size` bytes at `offset` to `to`; false if the file ends before.
  [[nodiscard]] bool read(size_t offset, void* to, size_t size) const;
  /// Maps a stretch whose offset is a multiple of page_size(). For writing, memory is put behind it
  /// at once, unless it is `sparse`.
  [[nodiscard]] Mapping map(size_t offset, size_t size, Access access, bool sparse = false) const;

 private:
  explicit SharedFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

constexpr const char* memory_folder = "/dev/shm";
/// Whether the files of a folder are in memory, and not on a disk.
bool is_in_memory(const std::string& folder);

/// Rounded up to whole pages.
size_t whole_pages(size_t size);

/// Bytes that may still be taken: in /dev/shm, and of this node's or job's memory.
struct Room {
  int64_t shared_memory = 0;
  int64_t memory = 0;
};
Room find_room();
/// Throws ErrorCode::File if /dev/shm would be nearly full with `bytes` more: MPI and the program
/// may need the rest, and a store into memory that is not there ends them.
void check_shared_room(size_t bytes);
/// Throws ErrorCode::Configuration with the numbers if `wanted` bytes are not there.
/// `purpose` ends "... are needed for ".
void check_room(const Room& room, int64_t wanted, const std::string& purpose);

}  // namespace pillion::node
