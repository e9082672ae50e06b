// SPDX-License-Identifier: BSD-3-Clause
// Values of all steps are one behind the other; the group `Steps` lists the first row of each.
#include "run_file.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "../../common/files.hpp"
#include "../../common/hdf5.hpp"

namespace pillion::stages::write_vtkhdf {
namespace {

namespace fs = std::filesystem;
using List = std::vector<int64_t>;

constexpr const char* top = "/VTKHDF/";

hdf5::Handle opened(const fs::path& path) {
  const auto access = hdf5::properties(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
  hdf5::check(H5Pset_file_locking(access, 0, 1), "open a file");  // some file systems have none
#endif
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "open " + path.string()};
}

hdf5::Handle object_at(hid_t file, const std::string& path) {
  return {H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose, "open " + path};
}

std::vector<std::string> links_in(hid_t file) {
  std::vector<std::string> names;
  const auto group = object_at(file, "/VTKHDF");
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  hdf5::check(H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, add, &names), "list a file");
  return names;
}

pillion_type element_of_type(hid_t type) {
  const size_t size = H5Tget_size(type);
  if (H5Tget_class(type) == H5T_FLOAT) return size == 4 ? PILLION_FLOAT32 : PILLION_FLOAT64;
  const bool is_unsigned = H5Tget_sign(type) == H5T_SGN_NONE;
  if (size == 1) return is_unsigned ? PILLION_UINT8 : PILLION_INT8;
  if (size == 2) return is_unsigned ? PILLION_UINT16 : PILLION_INT16;
  if (size == 4) return is_unsigned ? PILLION_UINT32 : PILLION_INT32;
  return is_unsigned ? PILLION_UINT64 : PILLION_INT64;
}

List extents_of(hid_t dataset) {
  const hdf5::Handle space(H5Dget_space(dataset), H5Sclose, "read a data space");
  std::vector<hsize_t> extents(static_cast<size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

std::string text_of(hid_t object, const char* name) {
  const hdf5::Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, "read an attribute");
  const hdf5::Handle type(H5Aget_type(attribute), H5Tclose, "read an attribute");
  std::string text(H5Tget_size(type), '\0');
  hdf5::check(H5Aread(attribute, type, text.data()), "read an attribute");
  return text.substr(0, text.find('\0'));
}

/// All attributes but the version, which is another one in a file with several steps.
void copy_attributes(hid_t from, hid_t to) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  hdf5::check(H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names),
              "list attributes");
  for (const auto& name : names) {
    if (name == "Version") continue;
    const std::string what = "copy the attribute " + name;
    const hdf5::Handle of(H5Aopen(from, name.c_str(), H5P_DEFAULT), H5Aclose, what);
    const hdf5::Handle type(H5Aget_type(of), H5Tclose, what),
        space(H5Aget_space(of), H5Sclose, what);
    Bytes value(H5Tget_size(type) * static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
    hdf5::check(H5Aread(of, type, value.data()), what);
    const hdf5::Handle made(H5Acreate2(to, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                            H5Aclose, what);
    hdf5::check(H5Awrite(made, type, value.data()), what);
    if (H5Tis_variable_str(type) > 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, value.data());
  }
}

hdf5::Handle links() {
  auto how = hdf5::properties(H5P_LINK_CREATE);
  hdf5::check(H5Pset_create_intermediate_group(how, 1), "make groups");
  return how;
}

std::vector<hsize_t> as_sizes(const List& of) { return {of.begin(), of.end()}; }

class RunFile {
 public:
  RunFile(hid_t file, const fs::path& folder, const std::vector<StepFile>& steps)
      : file_(file), folder_(folder), steps_(steps), first_(opened(folder / steps.front().name)) {
    for (const auto& step : steps)
      for (const auto& [name, rows] : step.shape.numbers) all_.try_emplace(name, rows);
    has_parts_ = std::any_of(steps.begin(), steps.end(), [](const StepFile& step) {
      return rows_in(step, "NumberOfPoints") > 1;
    });
  }

  void write() {
    const std::string& type = steps_.front().shape.type;
    put_top(type);
    std::vector<double> times;
    for (const auto& step : steps_) times.push_back(step.time);
    put(std::string(top) + "Steps/Values", H5T_NATIVE_DOUBLE, {times.size()}, times.data());
    const auto steps = object_at(file_, "/VTKHDF/Steps");
    hdf5::put(steps, "NSteps", static_cast<int64_t>(times.size()));
    if (type == "ImageData" || type == "RectilinearGrid") put_boxes();
    else if (type == "OverlappingAMR") put_levels();
    else put_grid();
    put_texts();
  }

 private:
  [[nodiscard]] size_t count() const { return steps_.size(); }
  [[nodiscard]] bool has(const std::string& name) const { return all_.contains(name); }

  // Older readers refuse files of later versions.
  void put_top(const std::string& type) {
    const hdf5::Handle made(H5Gcreate2(file_, "/VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                            H5Gclose, "make the group VTKHDF");
    write_vtkhdf::copy_attributes(object_at(first_, "/VTKHDF"), made);
    const int64_t minor = type == "OverlappingAMR"    ? 3
                          : type == "RectilinearGrid" ? 7
                          : has("NumberOfFaces")      ? 5
                                                      : 0;
    hdf5::put(made, "Version", List{2, minor});
  }

  void put(const std::string& path, hid_t type, const std::vector<hsize_t>& extents,
           const void* values) {
    const hdf5::Handle made(H5Dcreate2(file_, path.c_str(), type, hdf5::space(extents), links(),
                                       H5P_DEFAULT, H5P_DEFAULT),
                            H5Dclose, "make the dataset " + path);
    hdf5::check(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write " + path);
  }
  void put_steps(const std::string& name, const List& values, bool in_columns = false) {
    std::vector<hsize_t> extents{count()};
    if (in_columns) extents.push_back(1);
    put(std::string(top) + "Steps/" + name, H5T_NATIVE_INT64, extents, values.data());
  }

  static int64_t rows_in(const StepFile& step, const std::string& name) {
    const auto at = step.shape.numbers.find(name);
    return at == step.shape.numbers.end() ? 0 : at->second.extents[0];
  }
  /// Rows of a dataset in a step. Where it is not there, room is left for as many rows as its
  /// cells, points or parts have. VTK's reader goes astray after a step of one part among others of
  /// several: such a step gets an empty part, whose numbers and offsets are 0, as what no file has
  /// is.
  [[nodiscard]] int64_t rows_of(const StepFile& step, const std::string& name) const {
    const bool is_of_parts = name.starts_with("NumberOf"), is_padded = pads(step);
    const bool is_offset =
        name == "Offsets" || name == "FaceOffsets" || name == "PolyhedronOffsets";
    const int64_t more = is_padded && (is_of_parts || is_offset) ? 1 : 0;
    if (step.shape.numbers.contains(name)) return rows_in(step, name) + more;
    if (name.starts_with("CellData/")) return rows_in(step, "Types");
    if (name.starts_with("PointData/")) return rows_in(step, "Points");
    if (is_of_parts || name == "FaceOffsets") return rows_in(step, "NumberOfPoints") + more;
    return name == "PolyhedronOffsets" ? rows_in(step, "Offsets") + more : 0;
  }
  [[nodiscard]] bool pads(const StepFile& step) const {
    return has_parts_ && rows_in(step, "NumberOfPoints") == 1;
  }
  [[nodiscard]] List rows_of(const std::string& name) const {
    List out;
    for (const auto& step : steps_) out.push_back(rows_of(step, name));
    return out;
  }
  static List starts_of(const List& rows) {
    List out(rows.size());
    std::exclusive_scan(rows.begin(), rows.end(), out.begin(), int64_t{0});
    return out;
  }

  /// A dataset of all steps. With `is_stacked` each step is a row of its own.
  List join(const std::string& name, bool is_stacked = false) {
    const auto& of = all_.at(name);
    const List rows = is_stacked ? List(count(), 1) : rows_of(name), starts = starts_of(rows);
    List extents = of.extents;
    if (is_stacked) extents.insert(extents.begin(), 0);
    extents[0] = starts.back() + rows.back();
    const std::string path = top + name;
    const auto how = hdf5::properties(H5P_DATASET_CREATE);
    const auto whole = hdf5::space(as_sizes(extents));
    const int64_t none = -1;
    const bool is_id =
        name.ends_with("Ids") || name.ends_with("/parent") || name.ends_with("/patch");
    if (is_id && name.find('/') != std::string::npos)
      hdf5::check(H5Pset_fill_value(how, H5T_NATIVE_INT64, &none), "choose a value");
    for (size_t s = 0; s < count(); ++s) {
      const auto at = steps_[s].shape.numbers.find(name);
      if (at == steps_[s].shape.numbers.end() || rows[s] == 0) continue;
      std::vector<hsize_t> start(extents.size(), 0), size = as_sizes(extents);
      start[0] = static_cast<hsize_t>(starts[s]);
      size[0] = static_cast<hsize_t>(is_stacked ? 1 : rows_in(steps_[s], name));
      if (std::find(size.begin(), size.end(), 0) != size.end()) continue;
      hdf5::check(
          H5Sselect_hyperslab(whole, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr),
          "choose rows");
      hdf5::add_source(how, whole, steps_[s].name, path, hdf5::space(as_sizes(at->second.extents)));
    }
    const hdf5::Handle made(H5Dcreate2(file_, path.c_str(), hdf5::type_of(of.element),
                                       hdf5::space(as_sizes(extents)), links(), how, H5P_DEFAULT),
                            H5Dclose, "make the dataset " + path);
    copy_attributes(name, made);
    return starts;
  }
  /// Of a dataset or group, from the first step that has it.
  void copy_attributes(const std::string& name, hid_t to) const {
    const auto has_it = [&](const StepFile& step) {
      const auto at = step.shape.numbers.lower_bound(name);
      return at != step.shape.numbers.end() && at->first.starts_with(name);
    };
    const auto step = std::find_if(steps_.begin(), steps_.end(), has_it);
    if (step == steps_.begin())
      return write_vtkhdf::copy_attributes(object_at(first_, top + name), to);
    const auto other = opened(folder_ / step->name);
    write_vtkhdf::copy_attributes(object_at(other, top + name), to);
  }

  void put_boxes() {
    for (const auto& [name, rows] : all_) {
      if (name.ends_with("Coordinates")) {
        put_steps(name + "Offsets", join(name));
        continue;
      }
      (void)join(name, true);
      List numbers(count());
      std::iota(numbers.begin(), numbers.end(), 0);
      put_steps(offsets_of(name), numbers);
    }
  }

  /// "CellDataOffsets/u" of "CellData/u".
  static std::string offsets_of(const std::string& name) {
    const auto slash = name.rfind('/');
    return name.substr(0, slash) + "Offsets" + name.substr(slash);
  }

  void put_levels() {
    for (const auto& [name, rows] : all_) {
      const auto group = name.substr(0, name.find('/'));
      const auto starts = join(name);
      if (name.ends_with("/AMRBox")) {
        copy_attributes(group, object_at(file_, top + group));
        put_steps(group + "/AMRBoxOffsets", starts);
        put_steps(group + "/NumberOfAMRBoxes", rows_of(name));
      } else {
        put_steps(offsets_of(name), starts);
      }
    }
  }

  void put_grid() {
    std::map<std::string, List> starts;
    for (const auto& [name, rows] : all_) {
      starts[name] = join(name);
      if (name.find('/') != std::string::npos) put_steps(offsets_of(name), starts[name]);
    }
    const auto& parts = starts.at("NumberOfPoints");
    put_steps("PartOffsets", parts);
    put_steps("NumberOfParts", rows_of("NumberOfPoints"));
    put_steps("PointOffsets", starts.at("Points"));
    put_steps("CellOffsets", starts.at("Types"), true);
    put_steps("ConnectivityIdOffsets", starts.at("Connectivity"), true);
    if (!has("NumberOfFaces")) return;
    put_steps("FaceConnectivityOffsets", starts.at("FaceConnectivity"));
    put_steps("PolyhedronToFaceIdOffsets", starts.at("PolyhedronToFaces"));
    // Each part has one more than faces, which the reader adds.
    List faces = starts.at("FaceOffsets");
    for (size_t s = 0; s < faces.size(); ++s) faces[s] -= parts[s];
    put_steps("FaceOffsetsOffsets", faces);
  }

  /// The same at all steps.
  void put_texts() {
    for (const auto& [name, length] : steps_.front().shape.texts) {
      const std::string path = top + name;
      hdf5::check(H5Ocopy(first_, path.c_str(), file_, path.c_str(), H5P_DEFAULT, links()),
                  "copy " + path);
      put_steps(offsets_of(name), List(count(), 0));
      List sizes;
      for (size_t s = 0; s < count(); ++s) sizes.insert(sizes.end(), {1, length});
      const auto slash = name.rfind('/');
      put(top + ("Steps/" + name.substr(0, slash)) + "Sizes" + name.substr(slash), H5T_NATIVE_INT64,
          {count(), 2}, sizes.data());
    }
  }

  hid_t file_;
  fs::path folder_;
  const std::vector<StepFile>& steps_;
  hdf5::Handle first_;
  std::map<std::string, StepShape::Rows> all_;
  bool has_parts_ = false;  ///< some step has several
};

int64_t levels_in(const StepShape& shape) {
  return std::count_if(shape.numbers.begin(), shape.numbers.end(), [](const auto& of) {
    return of.first.ends_with("/AMRBox") && of.second.extents[0] > 0;
  });
}

/// VTK 9.7 reads the ratio of a level without boxes from uninitialised memory.
bool are_alike(const std::vector<StepFile>& steps) {
  const auto& first = steps.front().shape;
  return std::all_of(steps.begin(), steps.end(), [&](const StepFile& step) {
    if (step.shape.type != first.type) return false;
    if (first.type == "OverlappingAMR") return levels_in(step.shape) == levels_in(first);
    if (first.type != "ImageData" && first.type != "RectilinearGrid") return true;
    return std::equal(step.shape.numbers.begin(), step.shape.numbers.end(), first.numbers.begin(),
                      first.numbers.end(), [](const auto& a, const auto& b) {
                        return a.first == b.first && a.second.extents == b.second.extents;
                      });
  });
}

}  // namespace

StepShape read_shape(const fs::path& path) {
  const hdf5::Quiet quiet;
  const auto file = opened(path);
  StepShape out;
  out.type = text_of(object_at(file, "/VTKHDF"), "Type");
  for (const auto& name : links_in(file)) {
    const auto object = object_at(file, top + name);
    if (H5Iget_type(object) != H5I_DATASET) continue;
    const hdf5::Handle type(H5Dget_type(object), H5Tclose, "read a type");
    auto extents = extents_of(object);
    if (H5Tget_class(type) == H5T_STRING) out.texts[name] = extents.empty() ? 1 : extents[0];
    else out.numbers[name] = {element_of_type(type), std::move(extents)};
  }
  return out;
}

void write_run_file(const fs::path& folder, const std::string& name,
                    const std::vector<StepFile>& steps, bool durable) {
  const hdf5::Quiet quiet;
  const fs::path path = folder / name;
  if (steps.empty() || !are_alike(steps)) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return;
  }
  UnfinishedFile unfinished(path);
  Hdf5Disk disk(unfinished.aside());
  auto file = disk.make_file();
  RunFile(file, folder, steps).write();
  file.close("write " + path.string());
  disk.check();
  unfinished.finish(durable);
}

}  // namespace pillion::stages::write_vtkhdf
