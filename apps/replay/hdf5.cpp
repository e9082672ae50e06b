// SPDX-License-Identifier: BSD-3-Clause
// Reading HDF5 with its C library, which converts numbers and unpacks what is compressed.
#include "replay/hdf5.hpp"

#include <fmt/format.h>
#define H5_USE_110_API
#include <hdf5.h>

#include <filesystem>
#include <pillion/error.hpp>
#include <utility>

namespace replay {
namespace {

using pillion::Error;
using pillion::ErrorCode;

/// An identifier of the library, closed with it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: it stands for one

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void check(bool good, const std::string& place, const std::string& what) {
  if (!good) throw Error(ErrorCode::File, fmt::format("{} cannot be read: {}", place, what));
}

/// The library's own messages would be said by every rank.
hid_t open_file(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  check(file >= 0, "'" + path + "'", "it is no HDF5 file, or broken, or being written");
  return file;
}

std::optional<Number> number_of(hid_t type) {
  const size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return find_number(H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bytes);
    case H5T_FLOAT: return find_number('f', bytes);
    default: return {};
  }
}

std::string name_of_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return fmt::format("integer of {} bytes", H5Tget_size(type));
    case H5T_FLOAT: return fmt::format("real of {} bytes", H5Tget_size(type));
    case H5T_STRING: return "text";
    case H5T_COMPOUND: return "records";
    default: return "another class of HDF5";
  }
}

Stored describe(hid_t file, const std::string& path, const std::string& name) {
  const Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle space(H5Dget_space(dataset), H5Sclose);
  Stored out{.path = path,
             .dataset = "/" + name,
             .number = number_of(type),
             .type = name_of_type(type),
             .shape = {},
             .format = Format::Hdf5};
  const int axes = H5Sget_simple_extent_ndims(space);
  check(axes >= 0, out.place(), "its extents are unknown");
  std::vector<hsize_t> extents(static_cast<size_t>(axes));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  out.shape.assign(extents.begin(), extents.end());
  return out;
}

/// Values of parts that are missing are read as zeros, without a word.
void check_parts(hid_t file, const Stored& stored) {
  const Handle dataset(H5Dopen2(file, stored.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle how(H5Dget_create_plist(dataset), H5Pclose);
  size_t parts = 0;
  if (H5Pget_layout(how) == H5D_VIRTUAL) H5Pget_virtual_count(how, &parts);
  for (size_t n = 0; n < parts; ++n) {
    std::string name(static_cast<size_t>(H5Pget_virtual_filename(how, n, nullptr, 0)), '\0');
    H5Pget_virtual_filename(how, n, name.data(), name.size() + 1);
    std::string source(static_cast<size_t>(H5Pget_virtual_dsetname(how, n, nullptr, 0)), '\0');
    H5Pget_virtual_dsetname(how, n, source.data(), source.size() + 1);
    if (name == ".") continue;
    const auto path = (std::filesystem::path(stored.path).parent_path() / name).string();
    const Handle part(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    check(part >= 0 && H5Lexists(part, source.c_str(), H5P_DEFAULT) > 0, stored.place(),
          "its part '" + path + "' is missing or broken");
  }
}

herr_t note_dataset(hid_t, const char* name, const H5O_info_t* object, void* names) {
  if (object->type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

template <class T>
std::optional<T> attribute(hid_t file, const char* name, hid_t type) {
  if (H5Aexists(file, name) <= 0) return {};
  const Handle found(H5Aopen(file, name, H5P_DEFAULT), H5Aclose);
  const Handle space(H5Aget_space(found), H5Sclose);
  T value{};
  if (H5Sget_simple_extent_npoints(space) != 1 || H5Aread(found, type, &value) < 0) return {};
  return value;
}

template <class T>
bool triple(hid_t file, const char* name, hid_t type, T* values) {
  if (H5Aexists(file, name) <= 0) return false;
  const Handle found(H5Aopen(file, name, H5P_DEFAULT), H5Aclose);
  const Handle space(H5Aget_space(found), H5Sclose);
  return H5Sget_simple_extent_npoints(space) == 3 && H5Aread(found, type, values) >= 0;
}

/// As the stage `write` tells it.
std::optional<pillion_domain> domain_in(hid_t file) {
  pillion_domain out{};
  if (!triple(file, "domain_lo", H5T_NATIVE_DOUBLE, out.lo) ||
      !triple(file, "domain_hi", H5T_NATIVE_DOUBLE, out.hi) ||
      !triple(file, "domain_tilt", H5T_NATIVE_DOUBLE, out.tilt) ||
      !triple(file, "domain_periodic", H5T_NATIVE_INT32, out.periodic))
    return {};
  const auto dimensions = attribute<int64_t>(file, "domain_dimensions", H5T_NATIVE_INT64);
  out.dimensions = dimensions == 2 ? 2 : 0;
  return out;
}

hid_t native(pillion_type type) {
  switch (type) {
    case PILLION_INT32: return H5T_NATIVE_INT32;
    case PILLION_INT64: return H5T_NATIVE_INT64;
    case PILLION_FLOAT32: return H5T_NATIVE_FLOAT;
    default: return H5T_NATIVE_DOUBLE;
  }
}

}  // namespace

Hdf5Content look_into_hdf5(const std::string& path,
                           const std::function<bool(const std::string&)>& is_wanted) {
  const Handle file(open_file(path), H5Fclose);
  std::vector<std::string> names;
  check(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &names) >= 0, "'" + path + "'",
        "its groups cannot be walked");
  Hdf5Content out{{},
                  attribute<int64_t>(file, "step", H5T_NATIVE_INT64),
                  attribute<double>(file, "time", H5T_NATIVE_DOUBLE),
                  attribute<int64_t>(file, "coarsening", H5T_NATIVE_INT64).value_or(1)};
  for (const auto& name : names) {
    if (!is_wanted(name)) continue;
    out.datasets.push_back(describe(file, path, name));
    out.datasets.back().domain = domain_in(file);
    check_parts(file, out.datasets.back());
  }
  return out;
}

void read_hdf5(const Stored& stored, const Part& part, pillion_type type, std::byte* to) {
  if (part.count() == 0) return;
  const Handle file(open_file(stored.path), H5Fclose);
  const Handle dataset(H5Dopen2(file, stored.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle there(H5Dget_space(dataset), H5Sclose);
  std::vector<hsize_t> first, count;
  for (size_t d = 0; d < part.lo.size(); ++d) {
    first.push_back(static_cast<hsize_t>(part.lo[d]));
    count.push_back(static_cast<hsize_t>(part.hi[d] - part.lo[d]));
  }
  const Handle here(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                    H5Sclose);
  check(
      H5Sselect_hyperslab(there, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) >= 0,
      stored.place(), "it has changed since it was looked at");
  check(H5Dread(dataset, native(type), here, there, H5P_DEFAULT, to) >= 0, stored.place(),
        "the library cannot read these values; is it compressed with a filter that is not there?");
}

}  // namespace replay
