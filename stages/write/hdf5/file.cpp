// SPDX-License-Identifier: BSD-3-Clause
// Making, describing and filling a file of HDF5.
#include "file.hpp"

#include <hdf5_hl.h>

#include <array>

#include "../../common/legendre.hpp"

namespace pillion::stages::write_hdf5 {

namespace {

std::vector<hsize_t> sizes(const Cells& cells) { return {cells.begin(), cells.end()}; }

}  // namespace

Hdf5File::Hdf5File(const std::filesystem::path& path, const write::WrittenFields& fields,
                   const StepText& text, const PartShape& shape, const Compression& compression)
    : path_(path), fields_(fields), shape_(shape), disk_(path), file_(disk_.make_file()) {
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

Hdf5File::Hdf5File(const std::filesystem::path& path, const write::WrittenFields& fields,
                   const StepText& text, const Chunking& chunking,
                   const std::vector<std::string>& parts)
    : path_(path),
      fields_(fields),
      shape_(chunking.whole()),
      disk_(path),
      file_(disk_.make_file()) {
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
      hdf5::add_source(how, here, parts[p], fields.names[f], there);
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

namespace {

size_t axes_of(const write::WrittenFields& fields) {
  return has_boxes(fields.mesh()) ? static_cast<size_t>(fields.mesh().axes) : 0;
}

/// Distance of cells along an axis of the mesh.
double spacing(const write::WrittenFields& fields, const StepText& text, size_t axis) {
  return fields.mesh().length[axis] / static_cast<double>(fields.mesh().cells[axis]) *
         static_cast<double>(text.coarsening);
}

void put_mesh(hid_t file, const write::WrittenFields& fields, const StepText& text) {
  const auto& mesh = fields.mesh();
  const size_t axes = axes_of(fields);
  std::vector<double> origin(mesh.origin, mesh.origin + axes);
  std::vector<double> length(mesh.length, mesh.length + axes), steps;
  if (text.metric != PILLION_CARTESIAN)
    hdf5::put(file, "mesh_metric",
              std::string(text.metric == PILLION_SPHERICAL ? "spherical" : "cylindrical"));
  if (text.radius > 0) hdf5::put(file, "mesh_radius", text.radius);
  if (!text.faces.empty()) return;  // the faces are there
  for (size_t a = 0; a < axes; ++a) steps.push_back(spacing(fields, text, a));
  hdf5::put(file, "mesh_origin", origin);
  hdf5::put(file, "mesh_length", length);
  hdf5::put(file, "mesh_spacing", steps);
}

void put_domain(hid_t file, const pillion_domain& domain) {
  hdf5::put(file, "domain_lo", std::vector<double>(domain.lo, domain.lo + 3));
  hdf5::put(file, "domain_hi", std::vector<double>(domain.hi, domain.hi + 3));
  hdf5::put(file, "domain_tilt", std::vector<double>(domain.tilt, domain.tilt + 3));
  hdf5::put(file, "domain_periodic", std::vector<int64_t>(domain.periodic, domain.periodic + 3));
  if (domain.dimensions == 2) hdf5::put(file, "domain_dimensions", int64_t{2});
}

}  // namespace

std::vector<std::string> axis_names(const write::WrittenFields& fields) {
  if (fields.mesh().mesh_kind == PILLION_PARTICLES) return {"particle"};
  if (fields.mesh().mesh_kind == PILLION_SPECTRAL) return {"element"};
  const std::vector<std::string> names{"z", "y", "x"};
  return {names.end() - static_cast<std::ptrdiff_t>(axes_of(fields)), names.end()};
}

std::vector<std::string> face_names(const write::WrittenFields& fields) {
  if (fields.mesh().mesh_kind != PILLION_RECTILINEAR) return {};
  const std::vector<std::string> names{"x_faces", "y_faces", "z_faces"};
  return {names.begin(), names.begin() + fields.mesh().axes};
}

std::string component_axis(const pillion_field_description& field) {
  return field.components > 1 ? "component" + std::to_string(field.components) : "";
}

std::vector<const char*> point_axes(const pillion_field_description& field) {
  if (points_of(field) == 1) return {};
  if (field.axes == 2) return {"point_y", "point_x"};
  return {"point_z", "point_y", "point_x"};
}

void Hdf5File::describe(const StepText& text) {
  hdf5::put(file_, "step", text.step);
  hdf5::put(file_, "time", text.time);
  hdf5::put(file_, "time_units", text.time_units);
  hdf5::put(file_, "coarsening", text.coarsening);
  hdf5::put(file_, "mesh", std::string(fields_.mesh().mesh));
  hdf5::put(file_, "length_units", text.length_units);
  hdf5::put(file_, "first_plane", shape_.first);
  hdf5::put(file_, "origin", text.origin);
  if (fields_.mesh().mesh_kind == PILLION_SPECTRAL) {
    hdf5::put(file_, "mesh_order", int64_t{fields_.mesh().order});
    if (fields_.mesh().axes == 2) hdf5::put(file_, "mesh_dimensions", int64_t{2});
    hdf5::put(file_, "mesh_coordinates", std::string(fields_.mesh().coordinates));
  }
  if (axes_of(fields_) > 0) put_mesh(file_, fields_, text);
  else if (text.domain) put_domain(file_, *text.domain);
  put_scales(text);
  if (axes_of(fields_) > 0 && text.faces.empty()) put_vtk(text);
}

hdf5::Handle Hdf5File::scale(const std::string& name, int64_t size, const void* values,
                             hid_t type) const {
  const auto extent = hdf5::space({static_cast<hsize_t>(size)});
  hdf5::Handle out(
      H5Dcreate2(file_, name.c_str(), type, extent, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose, "make the dataset " + name);
  // What readers of netCDF-4 know a dimension without coordinates by.
  std::string label = "This is a netCDF dimension but not a netCDF variable.";
  std::string digits = std::to_string(size);
  label += std::string(10 - std::min<size_t>(digits.size(), 10), ' ') + digits;
  if (values != nullptr) {
    hdf5::check(H5Dwrite(out, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write " + name);
    label = name;
  }
  hdf5::check(H5DSset_scale(out, label.c_str()), "make a dimension of " + name);
  return out;
}

/// Those of the planes that this file has.
std::vector<double> Hdf5File::faces_here(const StepText& text, size_t axis) const {
  const size_t d = axes_of(fields_) - 1 - axis;
  const auto first = text.faces[axis].begin() + (d == 0 ? shape_.first : 0);
  return {first, first + shape_.cells[d] + 1};
}

// Cells are where their centres are: those of the mesh that were kept, if it is coarse.
void Hdf5File::put_scales(const StepText& text) {
  const auto names = axis_names(fields_);
  const auto attach = [&](const hdf5::Handle& scale, size_t axis, auto&& is_along) {
    for (size_t f = 0; f < datasets_.size(); ++f)
      if (is_along(f))
        hdf5::check(H5DSattach_scale(datasets_[f], scale, static_cast<unsigned>(axis)),
                    "attach a dimension");
  };
  for (size_t d = 0; d < names.size(); ++d) {
    const size_t axis = names.size() - 1 - d;
    std::vector<double> places;
    if (!text.faces.empty()) {
      const auto faces = faces_here(text, axis);
      for (size_t i = 0; i + 1 < faces.size(); ++i) places.push_back((faces[i] + faces[i + 1]) / 2);
      const auto of_faces = scale(face_names(fields_)[axis], static_cast<int64_t>(faces.size()),
                                  faces.data(), H5T_NATIVE_DOUBLE);
      hdf5::put(of_faces, "units", text.axis_units[axis]);
    }
    for (int64_t i = 0; text.faces.empty() && axes_of(fields_) > 0 && i < shape_.cells[d]; ++i)
      places.push_back(fields_.mesh().origin[axis] +
                       (static_cast<double>(i + (d == 0 ? shape_.first : 0)) +
                        0.5 / static_cast<double>(text.coarsening)) *
                           spacing(fields_, text, axis));
    const auto made = scale(names[d], shape_.cells[d], places.empty() ? nullptr : places.data(),
                            H5T_NATIVE_DOUBLE);
    if (!places.empty()) hdf5::put(made, "units", text.axis_units[axis]);
    attach(made, d, [](size_t) { return true; });
  }
  for (size_t f = 0; f < datasets_.size(); ++f) {
    const auto name = component_axis(fields_.fields[f]);
    if (name.empty() || H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0) continue;
    std::vector<int32_t> numbers;
    for (int32_t c = 0; c < fields_.fields[f].components; ++c) numbers.push_back(c);
    attach(scale(name, fields_.fields[f].components, numbers.data(), H5T_NATIVE_INT32),
           names.size(),
           [&](size_t g) { return fields_.fields[g].components == fields_.fields[f].components; });
  }
  put_point_scales();
}

// Points are where they are in the reference element.
void Hdf5File::put_point_scales() {
  for (size_t f = 0; f < datasets_.size(); ++f) {
    const auto& field = fields_.fields[f];
    const auto names = point_axes(field);
    const size_t first = extents(shape_.cells, f).size() - names.size();
    for (size_t a = 0; a < names.size(); ++a) {
      if (point_scales_.size() < names.size())
        point_scales_.push_back(scale(names[a], field.order + 1,
                                      LobattoBasis(field.order).points.data(), H5T_NATIVE_DOUBLE));
      hdf5::check(
          H5DSattach_scale(datasets_[f], point_scales_[a], static_cast<unsigned>(first + a)),
          "attach a dimension");
    }
  }
  point_scales_.clear();
}

// ImageData, version 1: https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html
void Hdf5File::put_vtk(const StepText& text) {
  const auto group = [&](const char* name) {
    return hdf5::Handle(H5Gcreate2(file_, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                        std::string("make the group ") + name);
  };
  const auto vtk = group("VTKHDF");
  std::vector<int64_t> extent(6);
  std::vector<double> origin(3), steps(3, 1.0);
  const size_t axes = axes_of(fields_);
  for (size_t a = 0; a < axes; ++a) {
    extent[2 * a + 1] = shape_.cells[axes - 1 - a];
    steps[a] = spacing(fields_, text, a);
    origin[a] = fields_.mesh().origin[a] +
                (a + 1 == axes ? static_cast<double>(shape_.first) * steps[a] : 0.0);
  }
  hdf5::put(vtk, "Version", std::vector<int64_t>{1, 0});
  hdf5::put(vtk, "Type", hdf5::text_type(9), {}, "ImageData");
  hdf5::put(vtk, "WholeExtent", extent);
  hdf5::put(vtk, "Origin", origin);
  hdf5::put(vtk, "Spacing", steps);
  hdf5::put(vtk, "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  const auto cells = group("VTKHDF/CellData");
  for (const auto& name : fields_.names)
    hdf5::check(H5Lcreate_hard(file_, name.c_str(), cells, name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                "show " + name + " to VTK");
}

}  // namespace pillion::stages::write_hdf5
