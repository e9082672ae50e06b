// SPDX-License-Identifier: BSD-3-Clause
// Groups, datasets and attributes.
#include "file.hpp"

#include "../../common/hdf5.hpp"
#include "../../common/si_units.hpp"

namespace pillion::stages::write_openpmd {
namespace {

constexpr std::array<double, 7> a_length{1, 0, 0, 0, 0, 0, 0};

/// Texts of one length, which all readers take.
void put_text(hid_t object, const char* name, const std::string& text) {
  hdf5::put(object, name, hdf5::text_type(text.size() + 1), {}, text.c_str());
}

hdf5::Handle make_group(hid_t where, const std::string& path) {
  const auto how = hdf5::properties(H5P_LINK_CREATE);
  hdf5::check(H5Pset_create_intermediate_group(how, 1), "make the group " + path);
  return {H5Gcreate2(where, path.c_str(), how, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "make the group " + path};
}

/// What has no units that we know is a number, and says its units as a text.
SiUnit unit_of(const std::string& units, const std::array<double, 7>& otherwise = {}) {
  const auto known = si_unit(units);
  return known ? *known : SiUnit{1, otherwise};
}

hid_t type_of(const Group& group, const Record& record) {
  const bool is_id = group.is_particles() && record.name == "id";
  if (is_id && record.field.type == PILLION_INT64) return H5T_NATIVE_UINT64;
  return hdf5::type_of(record.field.type);
}

class File {
 public:
  File(const std::filesystem::path& path, const StepText& text)
      : path_(path), disk_(path), file_(made()) {
    put_text(file_, "openPMD", "1.1.0");
    hdf5::put(file_, "openPMDextension", H5T_NATIVE_UINT32, {}, std::array<uint32_t, 1>{}.data());
    put_text(file_, "basePath", "/data/%T/");
    put_text(file_, "iterationEncoding", "fileBased");
    put_text(file_, "iterationFormat", text.pattern);
    put_text(file_, "software", "Pillion");
    put_text(file_, "softwareVersion", text.version);
    hdf5::put(file_, "origin", text.origin);
    step_ = make_group(file_, "data/" + std::to_string(text.step));
    hdf5::put(step_, "time", text.time);
    hdf5::put(step_, "dt", text.time_step);
    hdf5::put(step_, "timeUnitSI", unit_of(text.time_units).factor);
    hdf5::put(step_, "time_units", text.time_units);
  }

  void add(const Part& part) {
    const bool is_particles = part.group->is_particles();
    auto& has_path = is_particles ? has_particles_ : has_meshes_;
    if (!has_path)
      put_text(file_, is_particles ? "particlesPath" : "meshesPath",
               is_particles ? "particles/" : "fields/");
    has_path = true;
    if (is_particles) add_species(part);
    for (const auto& record : part.group->records) add_record(part, record);
    if (!is_particles && part.group->has_boxes_as_shared()) add_boxes(part);
  }

  /// Where the datasets begin, after which there is nothing left to do.
  std::vector<int64_t> close() {
    std::vector<int64_t> out;
    for (auto& dataset : datasets_) {
      const haddr_t at = H5Dget_offset(dataset);
      const auto extent = hdf5::Handle(H5Dget_space(dataset), H5Sclose, "read an extent");
      if (at == HADDR_UNDEF && H5Sget_simple_extent_npoints(extent) > 0)
        throw Error(ErrorCode::File, "cannot reserve room in " + path_.string());
      out.push_back(at == HADDR_UNDEF ? -1 : static_cast<int64_t>(at));
      dataset.close("write " + path_.string());
    }
    step_.close("write " + path_.string());
    file_.close("write " + path_.string());
    disk_.check();
    return out;
  }

 private:
  hdf5::Handle made() {
    const auto access = hdf5::properties(H5P_FILE_ACCESS);
    hdf5::check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST), "make a file");
    hdf5::check(H5Pset_alignment(access, hsize_t{1} << 16, 4096), "make a file");
    disk_.put(access);
    const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file < 0) disk_.check();
    return {file, H5Fclose, "make " + path_.string()};
  }

  hdf5::Handle make_dataset(const std::string& path, hid_t type,
                            const std::vector<int64_t>& extent) const {
    const auto how = hdf5::properties(H5P_DATASET_CREATE), way = hdf5::properties(H5P_LINK_CREATE);
    hdf5::check(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), "reserve room");
    hdf5::check(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "reserve room");
    hdf5::check(H5Pset_create_intermediate_group(way, 1), "make the dataset " + path);
    const auto space = hdf5::space({extent.begin(), extent.end()});
    return {H5Dcreate2(step_, path.c_str(), type, space, way, how, H5P_DEFAULT), H5Dclose,
            "make the dataset " + path + " in " + path_.string()};
  }

  /// The boxes of a level, in cells of it, beside the folders of openPMD.
  void add_boxes(const Part& part) const {
    const auto axes = static_cast<int64_t>(part.extent.size());
    const auto boxes = static_cast<int64_t>(part.boxes.size()) / (2 * axes);
    const std::string path =
        "boxes/" + std::string(part.group->mesh.mesh) + "_lvl" + std::to_string(part.level);
    const auto made = make_dataset(path, H5T_NATIVE_INT64, {boxes, 2, axes});
    if (boxes > 0)
      hdf5::check(
          H5Dwrite(made, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, part.boxes.data()),
          "write " + path);
  }

  void add_record(const Part& part, const Record& record) {
    const bool is_position = part.group->is_particles() && record.name == "position";
    const std::string units =
        is_position && record.field.units[0] == '\0' ? part.units : record.field.units;
    const auto unit = unit_of(units, is_position ? a_length : std::array<double, 7>{});
    const auto begin = datasets_.size();
    for (const auto& dataset : datasets_of(part)) {
      if (dataset.record != &record) continue;
      auto& made = datasets_.emplace_back(
          make_dataset(dataset.path, type_of(*part.group, record), part.extent));
      hdf5::put(made, "unitSI", unit.factor);
      if (!part.group->is_particles()) hdf5::put(made, "position", part.position);
    }
    if (record.components().empty())
      return describe(datasets_[begin], part, units, unit, record.field.name);
    const std::string path =
        (part.group->is_particles() ? "particles/" + std::string(part.group->mesh.mesh)
                                    : std::string("fields")) +
        "/" + part.name(record);
    const hdf5::Handle group(H5Gopen2(step_, path.c_str(), H5P_DEFAULT), H5Gclose, "open " + path);
    describe(group, part, units, unit, record.field.name);
  }

  /// Attributes of a record.
  static void describe(hid_t record, const Part& part, const std::string& units, const SiUnit& unit,
                       const std::string& field) {
    hdf5::put(record, "mesh", std::string(part.group->mesh.mesh));
    hdf5::put(record, "field", field);
    hdf5::put(record, "unitDimension", H5T_NATIVE_DOUBLE, {unit.dimension.size()},
              unit.dimension.data());
    hdf5::put(record, "timeOffset", 0.0);
    hdf5::put(record, "units", units);
    if (part.group->is_particles()) return;
    put_text(record, "geometry", "cartesian");
    put_text(record, "dataOrder", "C");
    const char labels[] = "z\0y\0x";
    hdf5::put(record, "axisLabels", hdf5::text_type(2), {part.extent.size()},
              labels + 2 * (3 - part.extent.size()));
    hdf5::put(record, "gridSpacing", part.spacing);
    hdf5::put(record, "gridGlobalOffset", part.offset);
    hdf5::put(record, "gridUnitSI", unit_of(part.units).factor);
    hdf5::put(record, "length_units", part.units);
    hdf5::put(record, "coarsening", int64_t{part.coarsening});
    hdf5::put(record, "level", int64_t{part.level});
  }

  /// The constant record that positions count from, and where particles live.
  void add_species(const Part& part) {
    const std::string path = "particles/" + std::string(part.group->mesh.mesh);
    const auto offset = make_group(step_, path + "/positionOffset");
    for (const auto& record : part.group->records) {
      if (record.name != "position") continue;
      const std::string units = record.field.units[0] == '\0' ? part.units : record.field.units;
      const auto unit = unit_of(units, a_length);
      describe(offset, part, units, unit, "");
      for (const auto& component : record.components()) {
        const auto constant = make_group(offset, component);
        const auto count = static_cast<uint64_t>(part.extent[0]);
        hdf5::put(constant, "value", 0.0);
        hdf5::put(constant, "shape", H5T_NATIVE_UINT64, {1}, &count);
        hdf5::put(constant, "unitSI", unit.factor);
      }
    }
    const hdf5::Handle species(H5Gopen2(step_, path.c_str(), H5P_DEFAULT), H5Gclose,
                               "open " + path);
    hdf5::put(species, "coarsening", int64_t{part.coarsening});
    hdf5::put(species, "length_units", part.units);
    if (!part.domain) return;
    const auto& domain = *part.domain;
    hdf5::put(species, "domain_lo", std::vector<double>(domain.lo, domain.lo + 3));
    hdf5::put(species, "domain_hi", std::vector<double>(domain.hi, domain.hi + 3));
    hdf5::put(species, "domain_tilt", std::vector<double>(domain.tilt, domain.tilt + 3));
    hdf5::put(species, "domain_periodic",
              std::vector<int64_t>(domain.periodic, domain.periodic + 3));
    if (domain.dimensions == 2) hdf5::put(species, "domain_dimensions", int64_t{2});
  }

  std::filesystem::path path_;
  Hdf5Disk disk_;
  hdf5::Handle file_, step_;
  std::vector<hdf5::Handle> datasets_;
  bool has_meshes_ = false, has_particles_ = false;
};

}  // namespace

std::vector<int64_t> make_file(const std::filesystem::path& path, const StepText& text,
                               const std::vector<Part>& parts) {
  File file(path, text);
  for (const auto& part : parts) file.add(part);
  return file.close();
}

}  // namespace pillion::stages::write_openpmd
