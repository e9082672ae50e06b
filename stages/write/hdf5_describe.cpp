// SPDX-License-Identifier: BSD-3-Clause
// What files say beside values: attributes, dimension scales, and the face for VTK.
#include <hdf5_hl.h>

#include <array>

#include "../common/legendre.hpp"
#include "hdf5_file.hpp"

namespace pillion::stages {
namespace {

size_t axes_of(const WrittenFields& fields) {
  return fields.mesh().mesh_kind == PILLION_UNIFORM ? static_cast<size_t>(fields.mesh().axes) : 0;
}

/// Distance of cells along an axis of the mesh.
double spacing(const WrittenFields& fields, const StepText& text, size_t axis) {
  return fields.mesh().length[axis] / static_cast<double>(fields.mesh().cells[axis]) *
         static_cast<double>(text.coarsening);
}

void put_mesh(hid_t file, const WrittenFields& fields, const StepText& text) {
  const auto& mesh = fields.mesh();
  const size_t axes = axes_of(fields);
  std::vector<double> origin(mesh.origin, mesh.origin + axes);
  std::vector<double> length(mesh.length, mesh.length + axes), steps;
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

std::vector<std::string> axis_names(const WrittenFields& fields) {
  if (fields.mesh().mesh_kind == PILLION_PARTICLES) return {"particle"};
  if (fields.mesh().mesh_kind == PILLION_SPECTRAL) return {"element"};
  const std::vector<std::string> names{"z", "y", "x"};
  return {names.end() - static_cast<std::ptrdiff_t>(axes_of(fields)), names.end()};
}

std::string component_axis(const pillion_field_description& field) {
  return field.components > 1 ? "component" + std::to_string(field.components) : "";
}

std::vector<const char*> point_axes(const pillion_field_description& field) {
  if (points_of(field) == 1) return {};
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
    hdf5::put(file_, "mesh_coordinates", std::string(fields_.mesh().coordinates));
  }
  if (axes_of(fields_) > 0) put_mesh(file_, fields_, text);
  else if (text.domain) put_domain(file_, *text.domain);
  put_scales(text);
  if (axes_of(fields_) > 0) put_vtk(text);
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
    for (int64_t i = 0; axes_of(fields_) > 0 && i < shape_.cells[d]; ++i)
      places.push_back(fields_.mesh().origin[axis] +
                       (static_cast<double>(i + (d == 0 ? shape_.first : 0)) +
                        0.5 / static_cast<double>(text.coarsening)) *
                           spacing(fields_, text, axis));
    const auto made = scale(names[d], shape_.cells[d], places.empty() ? nullptr : places.data(),
                            H5T_NATIVE_DOUBLE);
    if (!places.empty()) hdf5::put(made, "units", text.length_units);
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

}  // namespace pillion::stages
