// SPDX-License-Identifier: BSD-3-Clause
// A driver of HDF5's virtual file layer: reads and writes at offsets.
#include "hdf5.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace pillion::stages {
namespace {

struct OpenedFile {
  H5FD_t known;  ///< to the library; must come first
  Hdf5Disk* disk;
  haddr_t reserved, end;
};

OpenedFile& of(H5FD_t* file) { return *reinterpret_cast<OpenedFile*>(file); }
const OpenedFile& of(const H5FD_t* file) { return *reinterpret_cast<const OpenedFile*>(file); }

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  Hdf5Disk* disk = *static_cast<Hdf5Disk* const*>(H5Pget_driver_info(access));
  if (!disk->open()) return nullptr;
  return &(new OpenedFile{{}, disk, 0, 0})->known;
}
herr_t close_file(H5FD_t* file) {
  of(file).disk->close();
  delete &of(file);
  return 0;
}
herr_t read_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void* to) {
  of(file).disk->read(at, static_cast<std::byte*>(to), size);
  return 0;
}
herr_t write_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, const void* from) {
  of(file).disk->write(at, static_cast<const std::byte*>(from), size);
  of(file).end = std::max(of(file).end, at + size);
  return 0;
}
herr_t cut_file(H5FD_t* file, hid_t, hbool_t) {
  of(file).disk->resize(of(file).reserved);
  of(file).end = of(file).reserved;
  return 0;
}

H5FD_class_t description() {
  H5FD_class_t out{};
#ifdef H5FD_CLASS_VERSION
  out.version = H5FD_CLASS_VERSION;
  out.value = static_cast<H5FD_class_value_t>(600);
#endif
  out.name = "pillion";
  out.maxaddr = (haddr_t{1} << 62) - 1;
  out.fc_degree = H5F_CLOSE_WEAK;
  out.fapl_size = sizeof(Hdf5Disk*);
  out.open = open_file;
  out.close = close_file;
  out.cmp = [](const H5FD_t* a, const H5FD_t* b) {
    return a == b ? 0 : std::less<const H5FD_t*>{}(a, b) ? -1 : 1;
  };
  out.query = [](const H5FD_t*, unsigned long* flags) -> herr_t {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DATA_SIEVE;
    return 0;
  };
  out.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return of(file).reserved; };
  out.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t size) -> herr_t {
    of(file).reserved = size;
    return 0;
  };
  out.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return of(file).end; };
  out.read = read_file;
  out.write = write_file;
  out.truncate = cut_file;
  const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), out.fl_map);
  return out;
}

}  // namespace

void Hdf5Disk::put(hid_t access) {
  static const H5FD_class_t driver = description();
  static const hid_t id = hdf5::check(H5FDregister(&driver), "register a driver");
  Hdf5Disk* const self = this;
  hdf5::check(H5Pset_driver(access, id, &self), "choose a driver");
}

hdf5::Handle Hdf5Disk::make_file() {
  const auto access = hdf5::properties(H5P_FILE_ACCESS);
  // With this version chunks that are not compressed lie one after the other, without an index.
  hdf5::check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST), "make a file");
  hdf5::check(H5Pset_alignment(access, hsize_t{1} << 16, 4096), "make a file");
  put(access);
  const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) check();
  return {file, H5Fclose, "make " + path_.string()};
}

void Hdf5Disk::check() const {
  if (error_ != 0)
    throw Error(ErrorCode::File, "cannot write " + path_.string() + ": " + std::strerror(error_));
}

void Hdf5Disk::note() {
  if (error_ == 0) error_ = errno == 0 ? EIO : errno;
}

// A file of its own: what lies there, such as a symbolic link, is never opened. The library may
// open a new file twice.
bool Hdf5Disk::open() {
  ::unlink(path_.c_str());
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) note();
  return file_ >= 0;
}

void Hdf5Disk::close() {
  if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0) note();
}

// What is not there reads as 0, as it does beyond the end of a file.
void Hdf5Disk::read(haddr_t at, std::byte* to, size_t size) {
  while (size > 0) {
    const auto done = ::pread(file_, to, size, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) note();
    if (done <= 0) break;
    to += done;
    at += static_cast<haddr_t>(done);
    size -= static_cast<size_t>(done);
  }
  std::memset(to, 0, size);
}

void Hdf5Disk::write(haddr_t at, const std::byte* from, size_t size) {
  while (size > 0 && error_ == 0) {
    const auto done = ::pwrite(file_, from, size, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return note();
    from += done;
    at += static_cast<haddr_t>(done);
    size -= static_cast<size_t>(done);
  }
}

void Hdf5Disk::resize(haddr_t size) {
  if (error_ == 0 && ::ftruncate(file_, static_cast<off_t>(size)) != 0) note();
}

}  // namespace pillion::stages
