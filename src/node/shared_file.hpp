// SPDX-License-Identifier: BSD-3-Clause
// Memory that several processes of a node map: a file in /dev/shm that never has a name, so that
// nothing is left whenever they end, and no other user can open it. A process of the same user that
// knows its address opens it through its maker's entry in /proc. Numbers of processes and of open
// files repeat, in containers above all, so a file begins with a random number, and who opens it
// shows that it is the one that was meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "node/process.hpp"

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

/// Where other processes find a shared file.
struct FileAddress {
  Token process = 0;  ///< that has it open; 0 for none
  int32_t descriptor = -1;
  uint64_t nonce = 0;  ///< a random number, which the file begins with
};

class SharedFile {
 public:
  /// Bytes at the beginning of a file that are not its user's: the nonce, alone in its cache line.
  static constexpr size_t head = 64;

  SharedFile() = default;
  /// A new file of `size` bytes, `head` included; there is memory behind the page with the head
  /// only. Throws ErrorCode::File.
  static SharedFile make(const std::string& folder, size_t size);
  /// The file of that address, and no other. Throws ErrorCode::File or, if the process is not shown
  /// to be a neighbour, ErrorCode::State; both name the remedy for containers.
  enum class Access { Read, Write };
  static SharedFile open(const FileAddress& address, Access access = Access::Write);
  /// The file that process `number` has as `descriptor`, whatever it is: for looking only. Throws
  /// ErrorCode::File.
  static SharedFile look_at(int number, int descriptor);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Of a file that this process has made. Throws what this_process() throws.
  [[nodiscard]] FileAddress address() const { return {this_process(), descriptor_, nonce_}; }
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
  uint64_t nonce_ = 0;  ///< of one that was made here
};

constexpr const char* memory_folder = "/dev/shm";
/// Whether the files of a folder are in memory, and not on a disk.
bool is_in_memory(const std::string& folder);
/// The folder of the spill file: the one that was `chosen`, else the one for `temporary` files,
/// which may be null. On many clusters that is memory, which spilling is to save, and then it is
/// `output`.
std::string spill_folder(const std::string& chosen, const char* temporary,
                         const std::string& output);

/// Rounded up to whole pages.
size_t whole_pages(size_t size);

}  // namespace pillion::node
