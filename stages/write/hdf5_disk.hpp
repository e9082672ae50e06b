// SPDX-License-Identifier: BSD-3-Clause
// What HDF5 writes a file through. The library cannot close a file that it fails to write, and ends
// the process with it; so what goes wrong is kept from it, and told to who asks.
#pragma once

#include <filesystem>

#include "hdf5_library.hpp"

namespace pillion::stages {

class Hdf5Disk {
 public:
  explicit Hdf5Disk(std::filesystem::path path) : path_(std::move(path)) {}
  Hdf5Disk(const Hdf5Disk&) = delete;
  Hdf5Disk& operator=(const Hdf5Disk&) = delete;
  ~Hdf5Disk() { close(); }

  /// Has a file made through this, which must outlive it.
  void put(hid_t access);
  /// Throws what went wrong first.
  void check() const;

  // What the library does
  [[nodiscard]] bool open();
  void close();
  void read(haddr_t at, std::byte* to, size_t size);
  void write(haddr_t at, const std::byte* from, size_t size);
  void resize(haddr_t size);

 private:
  void note();

  std::filesystem::path path_;
  int file_ = -1;
  int error_ = 0;
};

}  // namespace pillion::stages
