// SPDX-License-Identifier: BSD-3-Clause
// Making the file, and putting chunks where they belong.
#include "hdf5_file.hpp"

namespace pillion::stages {
namespace {

hdf5::Handle make_file(const std::filesystem::path& path, Hdf5Disk& disk) {
  const auto access = hdf5::properties(H5P_FILE_ACCESS);
  // With this version chunks that are not compressed lie one after the other, without an index.
  hdf5::check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST), "make a file");
  hdf5::check(H5Pset_alignment(access, hsize_t{1} << 16, 4096), "make a file");
  disk.put(access);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) disk.check();
  return {file, H5Fclose, "make " + path.string()};
}

std::vector<hsize_t> sizes(const Cells& cells) { return {cells.begin(), cells.end()}; }

}  // namespace

Hdf5File::Hdf5File(const std::filesystem::path& path, const WrittenFields& fields,
                   const StepText& text, const PartShape& shape, const Compression& compression)
    : path_(path), fields_(fields), shape_(shape), disk_(path), file_(make_file(path, disk_)) {
  for (size_t f = 0; f < fields.names.size(); ++f) {
    const auto how = hdf5::properties(H5P_DATASET_CREATE);
    const auto chunk = extents(shape.chunk, f);
    if (product(shape.cells) > 0) {
      hdf5::check(H5Pset_chunk(how, static_cast<int>(chunk.size()), chunk.data()), "cut in chunks");
      compression.put(how);
    }
    if (!compression.is_on()) {
      hdf5::check(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), "reserve room");
      hdf5::check(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "reserve room");
    }
    datasets_.push_back(make(f, how));
  }
  describe(text);
}

Hdf5File::Hdf5File(const std::filesystem::path& path, const WrittenFields& fields,
                   const StepText& text, const Chunking& chunking,
                   const std::vector<std::string>& parts)
    : path_(path),
      fields_(fields),
      shape_(chunking.whole()),
      disk_(path),
      file_(make_file(path, disk_)) {
  for (size_t f = 0; f < fields.names.size(); ++f) {
    const auto how = hdf5::properties(H5P_DATASET_CREATE);
    for (size_t p = 0; p < parts.size(); ++p) {
      const auto part = chunking.part(p);
      const auto there = hdf5::space(extents(part.cells, f));
      const auto here = hdf5::space(extents(shape_.cells, f));
      std::vector<hsize_t> first(extents(part.cells, f).size());
      first[0] = static_cast<hsize_t>(part.first);
      hdf5::check(H5Sselect_hyperslab(here, H5S_SELECT_SET, first.data(), nullptr,
                                      extents(part.cells, f).data(), nullptr),
                  "show " + parts[p]);
      hdf5::check(H5Pset_virtual(how, here, parts[p].c_str(), fields.names[f].c_str(), there),
                  "show " + parts[p]);
    }
    datasets_.push_back(make(f, how));
  }
  describe(text);
}

std::vector<hsize_t> extents_of(const Cells& cells, const pillion_field_description& field) {
  auto out = sizes(cells);
  if (field.components > 1) out.push_back(static_cast<hsize_t>(field.components));
  const auto points = point_axes(field).size();
  out.insert(out.end(), points, static_cast<hsize_t>(field.order + 1));
  return out;
}

std::vector<hsize_t> Hdf5File::extents(const Cells& cells, size_t field) const {
  return extents_of(cells, fields_.fields[field]);
}

hdf5::Handle Hdf5File::make(size_t field, const hdf5::Handle& how) const {
  const auto all = hdf5::space(extents(shape_.cells, field));
  hdf5::Handle out(
      H5Dcreate2(file_, fields_.names[field].c_str(), hdf5::type_of(fields_.fields[field].type),
                 all, H5P_DEFAULT, how, H5P_DEFAULT),
      H5Dclose, "make the dataset " + fields_.names[field] + " in " + path_.string());
  hdf5::put(out, "units", fields_.fields[field].units);
  return out;
}

std::vector<int64_t> Hdf5File::places() const {
  std::vector<int64_t> out;
  for (size_t f = 0; f < datasets_.size(); ++f) {
    const std::vector<hsize_t> origin(extents(shape_.cells, f).size());
    unsigned skipped = 0;
    haddr_t at = HADDR_UNDEF;
    hsize_t size = 0;
    if (product(shape_.cells) > 0)
      hdf5::check(H5Dget_chunk_info_by_coord(datasets_[f], origin.data(), &skipped, &at, &size),
                  "reserve room in " + path_.string());
    out.push_back(static_cast<int64_t>(at));
  }
  return out;
}

void Hdf5File::write_chunk(size_t field, int64_t chunk, uint32_t skipped,
                           std::span<const std::byte> bytes) {
  auto corner = sizes(shape_.corner(chunk));
  corner.resize(extents(shape_.cells, field).size());
  hdf5::check(H5Dwrite_chunk(datasets_[field], H5P_DEFAULT, skipped, corner.data(), bytes.size(),
                             bytes.data()),
              "write " + path_.string());
  disk_.check();
}

void Hdf5File::close() {
  for (auto& dataset : datasets_) dataset.close("write " + path_.string());
  file_.close("write " + path_.string());
  disk_.check();
}

}  // namespace pillion::stages
