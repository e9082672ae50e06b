// SPDX-License-Identifier: BSD-3-Clause
// The HDF5 library: identifiers that are closed, failures as exceptions, filters, and what it
// writes files through. The simulation may use the same library, so its settings for errors are
// restored.
#pragma once

#define H5_USE_110_API
#include <dlfcn.h>
#include <hdf5.h>
#include <pillion/types.h>

#include <filesystem>
#include <pillion/error.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attribute_value.hpp"

namespace pillion::stages::hdf5 {

/// While it is there, the library does not print what it fails at.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// The innermost of the reasons that the library gives.
inline std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned number, const H5E_error2_t* error, void* to) -> herr_t {
        if (number == 0 && error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
        return 0;
      },
      &text);
  return text;
}

/// Throws the library's error if `result` is a failure.
template <class T>
T check(T result, const std::string& what) {
  if (result < 0) throw Error(ErrorCode::File, "cannot " + what + ": " + reason());
  return result;
}

class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what)
      : id_(check(id, what)), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: it stands for one
  /// Of a file: what was kept back is written, which may fail.
  void close(const std::string& what) {
    if (id_ >= 0) check(close_(std::exchange(id_, -1)), what);
  }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

inline Handle properties(hid_t kind) { return {H5Pcreate(kind), H5Pclose, "make properties"}; }
inline Handle space(const std::vector<hsize_t>& extents) {
  return {extents.empty()
              ? H5Screate(H5S_SCALAR)
              : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
          H5Sclose, "make a data space"};
}
/// Text of any length, or of one length for readers that want that.
inline Handle text_type(size_t size) {
  Handle out(H5Tcopy(H5T_C_S1), H5Tclose, "make a type of text");
  check(H5Tset_size(out, size), "make a type of text");
  if (size == H5T_VARIABLE) check(H5Tset_cset(out, H5T_CSET_UTF8), "make a type of text");
  return out;
}
inline hid_t type_of(pillion_type type) {
  switch (type) {
    case PILLION_INT32: return H5T_NATIVE_INT32;
    case PILLION_INT64: return H5T_NATIVE_INT64;
    case PILLION_FLOAT32: return H5T_NATIVE_FLOAT;
    case PILLION_INT8: return H5T_NATIVE_INT8;
    case PILLION_UINT8: return H5T_NATIVE_UINT8;
    case PILLION_INT16: return H5T_NATIVE_INT16;
    case PILLION_UINT16: return H5T_NATIVE_UINT16;
    case PILLION_UINT32: return H5T_NATIVE_UINT32;
    case PILLION_UINT64: return H5T_NATIVE_UINT64;
    default: return H5T_NATIVE_DOUBLE;
  }
}

/// Rows of a virtual dataset are those of a dataset in another file. HDF5 takes a percent sign in
/// these names for the place of a number, unless it is there twice.
inline void add_source(hid_t properties, hid_t rows, const std::string& file,
                       const std::string& dataset, hid_t there) {
  const auto plain = [](const std::string& name) {
    std::string out;
    for (const char c : name) out += c == '%' ? "%%" : std::string(1, c);
    return out;
  };
  check(H5Pset_virtual(properties, rows, plain(file).c_str(), plain(dataset).c_str(), there),
        "refer to " + file);
}

/// Gives an object an attribute of one value, or of a list of them.
inline void put(hid_t object, const char* name, hid_t type, const std::vector<hsize_t>& extents,
                const void* values) {
  const std::string what = std::string("write the attribute ") + name;
  const Handle extent = space(extents);
  const Handle attribute(H5Acreate2(object, name, type, extent, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         what);
  check(H5Awrite(attribute, type, values), what);
}
inline void put(hid_t object, const char* name, const std::string& text) {
  const char* pointer = text.c_str();
  put(object, name, text_type(H5T_VARIABLE), {}, &pointer);
}
inline void put(hid_t object, const char* name, int64_t value) {
  put(object, name, H5T_NATIVE_INT64, {}, &value);
}
inline void put(hid_t object, const char* name, double value) {
  put(object, name, H5T_NATIVE_DOUBLE, {}, &value);
}
inline void put(hid_t object, const char* name, const std::vector<double>& values) {
  put(object, name, H5T_NATIVE_DOUBLE, {values.size()}, values.data());
}
inline void put(hid_t object, const char* name, const std::vector<int64_t>& values) {
  put(object, name, H5T_NATIVE_INT64, {values.size()}, values.data());
}

inline void put_value(hid_t object, const char* name, const AttributeValue& value) {
  std::visit([&](const auto& of_its_type) { put(object, name, of_its_type); }, value);
}

/// Whether the library has it. Plug-ins look for the library among the symbols that all share,
/// where it is not, since stages are loaded apart; so it is put there first.
inline bool has_filter(H5Z_filter_t filter) {
  Dl_info library;
  const bool is_plugin = filter >= H5Z_FILTER_RESERVED;
  if (is_plugin && dladdr(reinterpret_cast<void*>(&H5open), &library) != 0)
    dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  const Quiet quiet;
  return H5Zfilter_avail(filter) > 0;
}

}  // namespace pillion::stages::hdf5

namespace pillion::stages {

class Hdf5Disk {
 public:
  explicit Hdf5Disk(std::filesystem::path path) : path_(std::move(path)) {}
  Hdf5Disk(const Hdf5Disk&) = delete;
  Hdf5Disk& operator=(const Hdf5Disk&) = delete;
  ~Hdf5Disk() { close(); }

  /// Has a file made through this, which must outlive it.
  void put(hid_t access);
  /// Makes the file. Readers need version 1.10 of the library.
  [[nodiscard]] hdf5::Handle make_file();
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
