// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_vtkhdf`: a file of VTKHDF for each step, one that has all of them, and a series
// of them for older versions of ParaView.

#include <algorithm>
#include <cstdio>
#include <map>

#include "../../common/elements.hpp"
#include "../../common/hdf5.hpp"
#include "../../common/names.hpp"
#include "../../common/options.hpp"
#include "../cost_table.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"
#include "file.hpp"
#include "meshes.hpp"
#include "run_file.hpp"

namespace pillion::stages::write_vtkhdf {
namespace {

class WriteVtkhdf final : public stage::Stage {
 public:
  explicit WriteVtkhdf(stage::Setup& setup);

  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (!has_begun_) return;
    if (!steps_.is_list_due()) write_series(step);
    write_run(step);
  }
  void save(stage::State& state) const override {
    steps_.save(state);
    costs_.save(state);
  }
  void restore(stage::State& state) override {
    steps_.restore(state);
    costs_.restore(state);
  }

 private:
  /// Whether not all cells of a mesh of boxes are there, and whole.
  [[nodiscard]] bool is_in_parts() const {
    const auto& mesh = fields_.mesh();
    return mesh.levels > 1 || mesh.is_partial != 0 || has_weight(mesh);
  }
  [[nodiscard]] bool has_levels() const {
    return is_in_parts() && fields_.mesh().mesh_kind == PILLION_UNIFORM;
  }
  /// Whether files have cells of any shape.
  [[nodiscard]] bool is_grid() const {
    return !has_boxes(fields_.mesh()) || (is_in_parts() && !has_levels());
  }
  [[nodiscard]] bool is_for_old_readers() const { return suffix_ == ".hdf"; }
  [[nodiscard]] stage::Input input_of() const;
  void find_places(const stage::Setup& setup);
  void check_names(const stage::Value& list) const;
  void check_points(const stage::Setup& setup);
  [[nodiscard]] double memory() const;
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string path_of(int64_t step) const;
  [[nodiscard]] Content content_of(const stage::Step& step) const;
  void describe(const stage::Step& step, Content& content) const;
  [[nodiscard]] int64_t count_of(const stage::Step& step) const;
  void write_series(const stage::Step& step) const;
  void write_run(const stage::Step& step);

  write::WrittenFields fields_;
  std::string name_;
  Writing how_;
  std::string places_;  ///< the field of positions or coordinates
  Wanted wanted_;
  std::string suffix_;  ///< ".hdf" for old readers
  write::StepList steps_;
  write::CostTable costs_;
  std::map<int64_t, StepShape> shapes_;  ///< on the first peer, by step
  bool has_begun_ = false;
};

WriteVtkhdf::WriteVtkhdf(stage::Setup& setup)
    : fields_(setup, true, true),
      name_(dataset_name(setup, fields_.mesh().mesh)),
      how_{integer_from(setup["at_once"], 0, most_counted), setup["durable"].boolean()},
      wanted_{.names = fields_.names, .fields = fields_.fields},
      suffix_(setup["old_readers"].boolean() ? ".hdf" : ".vtkhdf"),
      steps_(fields_, name_, name_ + suffix_ + ".series", name_ + "_vtkhdf"),
      costs_("write_" + name_ + "_vtkhdf", "Writing of " + name_ + " as VTKHDF") {
  const auto elements = setup["elements"];
  wanted_.is_split = choice(elements, {"lagrange", "split"}) == 1;
  if (wanted_.is_split && fields_.mesh().mesh_kind != PILLION_SPECTRAL)
    elements.fail("`elements` goes with spectral meshes");
  const auto old_readers = setup["old_readers"];
  if (is_for_old_readers() && fields_.mesh().mesh_kind == PILLION_RECTILINEAR)
    old_readers.fail("ParaView 5.10 and 5.11 read no rectilinear meshes as VTKHDF; use write_hdf5");
  wanted_.in_middle = is_for_old_readers() && !is_grid() && !has_levels();
  find_places(setup);
  check_names(setup["fields"]);
  check_points(setup);
  if (!is_for_old_readers()) setup.product(name_ + ".vtkhdf");
  setup.product(name_ + suffix_ + ".series");
  setup.product(name_ + "_vtkhdf");
  setup.survives_failures();
  wanted_.input = setup.input(input_of());
  setup.memory(memory());
}

/// Boxes go in slabs, which are contiguous in a file; all else is written where it is.
stage::Input WriteVtkhdf::input_of() const {
  const auto& mesh = fields_.mesh();
  auto names = fields_.names;
  if (wanted_.places == static_cast<int32_t>(names.size())) names.push_back(places_);
  const bool has_points = wanted_.has_points();
  if (is_grid() || has_levels() || has_points) {
    auto input = stage::Input::as_shared(names).with_levels();
    const bool is_spectral = mesh.mesh_kind == PILLION_SPECTRAL;  // with the mesh's points alone
    return has_points && !is_spectral ? std::move(input).with_points() : input;
  }
  return stage::Input::slabs(names, mesh.axes - 1);
}

void WriteVtkhdf::find_places(const stage::Setup& setup) {
  const auto& mesh = fields_.mesh();
  const auto position = setup["position"];
  const bool is_particles = mesh.mesh_kind == PILLION_PARTICLES;
  if (position && !is_particles) position.fail("`position` goes with particles");
  if (is_particles) places_ = position ? position.text() : "position";
  if (mesh.mesh_kind == PILLION_SPECTRAL) places_ = mesh.coordinates;
  if (mesh.mesh_kind == PILLION_CURVILINEAR)
    wanted_.place_type = setup.field(mesh.coordinates, setup["fields"]).type;
  if (!is_particles && mesh.mesh_kind != PILLION_SPECTRAL) return;
  const auto place = position ? position : setup["fields"];
  if (places_.empty())
    place.fail("mesh '" + std::string(mesh.mesh) +
               "' names no field of coordinates; add `coordinates: FIELD` to it");
  const auto field = setup.field(places_, place);
  const bool is_real = field.type == PILLION_FLOAT32 || field.type == PILLION_FLOAT64;
  const bool is_at_points = is_particles || field.centering == PILLION_POINT;
  const bool is_flat = mesh.mesh_kind == PILLION_SPECTRAL && mesh.axes == 2;
  const bool fits = field.components == 3 || (is_flat && field.components == 2);
  if (std::string(field.mesh) != mesh.mesh || !fits || !is_real || !is_at_points)
    place.fail("'" + places_ + "' cannot be where the points of mesh '" + mesh.mesh +
               "' are: it must be a field of that mesh with 3 real components at each point");
  const auto at = std::find(fields_.names.begin(), fields_.names.end(), places_);
  wanted_.places = static_cast<int32_t>(at - fields_.names.begin());
  wanted_.place_type = field.type;
}

void WriteVtkhdf::check_names(const stage::Value& list) const {
  for (const auto& name : fields_.names)
    for (const char* taken : {"vtkGhostType", "GlobalCellIds", "GlobalPointIds", "patch", "parent"})
      if (name == taken)
        list.fail("'" + name +
                  "' is what the file calls something else; give the field another name");
}

/// An image for old readers has values at points alone: its own, or in the middle of cells.
void WriteVtkhdf::check_points(const stage::Setup& setup) {
  if (!wanted_.in_middle || !wanted_.has_points()) return;
  for (const auto& field : fields_.fields)
    if (field.centering != PILLION_POINT)
      setup["old_readers"].fail(
          "old readers take values at points and values in cells from files of their own; write "
          "them in two stages");
  wanted_.in_middle = false;
}

/// The largest array that is rearranged, relative to all of them.
double WriteVtkhdf::memory() const {
  if (!is_grid() && !has_levels()) return 0.0;
  return 1.1;
}

std::string WriteVtkhdf::title() const {
  std::string out = "Dataset of";
  for (size_t f = 0; f < fields_.names.size(); ++f) out += (f > 0 ? ", " : " ") + fields_.names[f];
  return out;
}

std::string WriteVtkhdf::path_of(int64_t step) const {
  char number[32];
  std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(step));
  return name_ + "_vtkhdf/" + name_ + "." + number + suffix_;
}

Content WriteVtkhdf::content_of(const stage::Step& step) const {
  if (is_grid()) return grid_content(step, wanted_);
  return has_levels() ? levels_content(step, wanted_) : structured_content(step, wanted_);
}

/// What the file says beside values.
void WriteVtkhdf::describe(const stage::Step& step, Content& content) const {
  const auto& mesh = step.mesh(fields_.mesh().mesh);
  const auto put = [&](const char* name, auto value) {
    content.attributes.push_back({"/", name, std::move(value)});
  };
  put("step", std::vector<int64_t>{step.index()});
  put("time", std::vector<double>{step.time()});
  put("time_units", step.units("time"));
  put("mesh", std::string(mesh.name));
  put("length_units", std::string(mesh.units));
  put("coarsening", std::vector<int64_t>{mesh.coarsening});
  put("origin", step.origin(name_, title()));
  if (mesh.kind == PILLION_PARTICLES) {
    const auto domain = step.domain(mesh.name);
    put("domain_lo", std::vector<double>(domain.lo, domain.lo + 3));
    put("domain_hi", std::vector<double>(domain.hi, domain.hi + 3));
    put("domain_tilt", std::vector<double>(domain.tilt, domain.tilt + 3));
    put("domain_periodic", std::vector<int64_t>(domain.periodic, domain.periodic + 3));
    if (domain.dimensions == 2) put("domain_dimensions", std::vector<int64_t>{2});
  }
  if (mesh.metric != PILLION_CARTESIAN)
    put("mesh_metric", std::string(mesh.metric == PILLION_SPHERICAL ? "spherical" : "cylindrical"));
  if (mesh.radius > 0) put("mesh_radius", std::vector<double>{mesh.radius});
}

int64_t WriteVtkhdf::count_of(const stage::Step& step) const {
  int64_t count = 0;
  for (int32_t b = 0; b < step.block_count(wanted_.input); ++b)
    count += step.block(wanted_.input, b).owned();
  step.sum(std::span(&count, 1));
  return count;
}

void WriteVtkhdf::run(stage::Step& step) {
  const hdf5::Quiet quiet;
  if (!has_begun_ && steps_.begin(step)) {
    write_series(step);
    write_run(step);
  }
  has_begun_ = true;
  shapes_.erase(shapes_.lower_bound(step.index()), shapes_.end());  // of steps taken back
  auto content = content_of(step);
  describe(step, content);
  const auto count = count_of(step);
  const std::filesystem::path folder = step.product_folder();
  const auto cost = write_file(step, content, folder / path_of(step.index()), how_);
  steps_.add(step, {step.index(), step.time(), step.coarsening(fields_.mesh().mesh), count});
  if (steps_.is_list_due()) {
    write_series(step);
    write_run(step);
  }
  costs_.add(step, cost.seconds, cost.bytes);
  step.write(costs_.table());
}

/// Coarse steps have other meshes, and are left out. [peers]
void WriteVtkhdf::write_run(const stage::Step& step) {
  if (is_for_old_readers()) return;
  if (step.peer() == 0) {
    const std::filesystem::path folder = step.product_folder();
    std::vector<StepFile> files;
    for (const auto& of : steps_.steps()) {
      if (of.coarsening > 1) continue;
      auto [at, is_new] = shapes_.try_emplace(of.step);
      if (is_new) at->second = read_shape(folder / path_of(of.step));
      files.push_back({path_of(of.step), of.time, at->second});
    }
    write_run_file(folder, name_ + ".vtkhdf", files, how_.durable);
  }
  step.agree();
}

void WriteVtkhdf::write_series(const stage::Step& step) const {
  std::string text = "{\n  \"file-series-version\": \"1.0\",\n  \"files\": [";
  const char* between = "\n";
  for (const auto& of : steps_.steps()) {
    char time[32];
    std::snprintf(time, sizeof time, "%.17g", of.time);
    text += std::string(between) + "    {\"name\": " + in_quotes(path_of(of.step)) +
            ", \"time\": " + time + "}";
    between = ",\n";
  }
  text += "\n  ]\n}\n";
  step.write_text(name_ + suffix_ + ".series", title(), nullptr, text, how_.durable);
}

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "Fields to write, all on one mesh of any kind"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"elements", "lagrange | split", "lagrange",
     "Spectral elements: as one cell each, or as linear hexahedra between their points"},
    {"position", "field", "null", "Of particles: where they are; that called position if left out"},
    {"old_readers", "true | false", "false",
     "Files for ParaView 5.10 and 5.11: *.hdf, and images of values at the centres of cells"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "A file gets its name only when it is on disk"},
};

}  // namespace
}  // namespace pillion::stages::write_vtkhdf

PILLION_STAGE(pillion::stages::write_vtkhdf::WriteVtkhdf, "write_vtkhdf",
              "Fields as VTKHDF files for ParaView and VTK, one for each step and one for all",
              pillion::stages::write_vtkhdf::parameters)
