// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_raw`: files of values, one for each rank and step, and a YAML index of their
// blocks.

#include <cstdio>
#include <string>
#include <vector>

#include "../../common/files.hpp"
#include "../../common/messages.hpp"
#include "../../common/names.hpp"
#include "../../common/options.hpp"
#include "../cost_table.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"
#include "geometry.hpp"
#include "index.hpp"

namespace pillion::stages::write_raw {

class WriteRaw final : public stage::Stage {
 public:
  explicit WriteRaw(stage::Setup& setup);

  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (has_begun_ && !steps_.is_list_due()) write_index(step);
  }
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  [[nodiscard]] bool is_mesh() const {
    return has_boxes(fields_.mesh()) || is_curvilinear(fields_.mesh());
  }
  [[nodiscard]] std::string path_of(int64_t step, const std::string& end) const;
  /// Writes what this peer has; returns the lines of the index for it.
  std::string write_blocks(const stage::Step& step, const std::string& path, int64_t& bytes);
  [[nodiscard]] Extent extent_of(const stage::Block& block, size_t field) const;
  [[nodiscard]] std::string place_of(const stage::Step& step, const stage::Block& block) const;
  /// The path of the index of points and cells that a step has, "" if its mesh has none. The index
  /// is written if some of them have changed. [peers]
  [[nodiscard]] std::string write_mesh_index(const stage::Step& step) const;
  void write_step_index(const stage::Step& step, const std::string& mesh,
                        const std::string& blocks) const;
  void write_index(const stage::Step& step) const;

  write::WrittenFields fields_;
  std::string name_;
  bool durable_;
  int64_t at_once_;
  int32_t input_ = 0;
  write::StepList steps_;
  write::CostTable costs_;
  GeometryFiles geometry_;
  std::string mesh_index_;  ///< of points and cells, as the last step had it
  bool has_begun_ = false;
};

namespace {

/// Where values are; nothing of those at cells in boxes, nor of particles.
std::string centering(const pillion_field_description& field) {
  if (field.mesh_kind == PILLION_PARTICLES) return "";
  if (field.point_set != nullptr)
    return ", centering: point, points: " + std::to_string(field.points);
  if (field.centering == PILLION_POINT) return ", centering: point";
  if (field.centering == PILLION_FACE || field.centering == PILLION_EDGE) {
    const bool is_face = field.centering == PILLION_FACE;
    int32_t axis = 0;
    while (is_at_points_along(field, axis) != is_face) ++axis;
    return std::string(", centering: ") + (is_face ? "face" : "edge") + ", axis: " + "xyz"[axis];
  }
  return field.mesh_kind == PILLION_SPECTRAL ? ", centering: cell" : "";
}

}  // namespace

WriteRaw::WriteRaw(stage::Setup& setup)
    : fields_(setup, true, true),
      name_(dataset_name(setup, fields_.mesh().mesh)),
      durable_(setup["durable"].boolean()),
      at_once_(integer_from(setup["at_once"], 0, most_counted)),
      steps_(fields_, name_, name_ + ".raw.yaml", name_ + "_raw"),
      costs_("write_" + name_ + "_raw", "Writing of " + name_ + " by rank") {
  fields_.add_mask_and_weight(setup);
  input_ = setup.input(stage::Input::as_shared(fields_.names).with_levels().with_points());
  setup.memory(1);  // a packed copy
  setup.product(name_ + ".raw.yaml");
  setup.survives_failures();
}

std::string WriteRaw::path_of(int64_t step, const std::string& end) const {
  char number[32];
  std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(step));
  return name_ + "_raw/" + name_ + "." + number + end;
}

void WriteRaw::run(stage::Step& step) {
  if (!has_begun_ && steps_.begin(step)) write_index(step);
  has_begun_ = true;
  const write::Stopwatch watch;
  char number[32];
  std::snprintf(number, sizeof number, ".%06d.raw", step.peer());
  const auto path = path_of(step.index(), number);
  std::string lines;
  int64_t bytes = 0;
  step.agree();
  step.in_turn(at_once_, [&] { lines = write_blocks(step, path, bytes); });
  const auto mesh = write_mesh_index(step);
  const auto all = gather_values(step, std::vector<char>(lines.begin(), lines.end()));
  if (step.peer() == 0) write_step_index(step, mesh, {all.begin(), all.end()});
  step.agree();
  mesh_index_ = mesh;
  geometry_.keep_entries();
  steps_.add(step, {step.index(), step.time(), step.coarsening(fields_.mesh().mesh), 0});
  if (steps_.is_list_due()) write_index(step);
  costs_.add(step, watch.seconds(), bytes);
  step.write(costs_.table());
}

/// Values of a field in a block: numbers of cells, points, particles or elements along each axis.
Extent WriteRaw::extent_of(const stage::Block& block, size_t field) const {
  const auto& of = fields_.fields[field];
  const bool has_cells = is_mesh() || is_unstructured(of);
  return has_cells ? stages::extent_of(block, of) : Extent{block.owned(), 1, 1};
}

std::string WriteRaw::write_blocks(const stage::Step& step, const std::string& path,
                                   int64_t& bytes) {
  const std::filesystem::path products = step.product_folder();
  geometry_.begin(products, path.substr(0, path.size() - 3) + "mesh.raw");
  if (step.block_count(input_) == 0) {
    geometry_.finish(durable_);
    return "";
  }
  UnfinishedFile file(products / path);
  OpenFiles files;
  std::string lines;
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    lines += "  - {file: " + in_quotes(path) + place_of(step, block) + ", offsets: [";
    for (int32_t f = 0; f < block.array_count(); ++f) {
      const auto& array = block[f];
      const auto extent = extent_of(block, static_cast<size_t>(f));
      const size_t size =
          static_cast<size_t>(size_of(extent)) *
          write::WrittenFields::element_size(fields_.fields[static_cast<size_t>(f)]);
      const int64_t along[3] = {extent[0], extent[1], extent[2]};
      const Bytes copy =
          write::is_packed(array, along) ? Bytes{} : write::close_packed(array, along);
      const auto* values = copy.empty() ? static_cast<const std::byte*>(array.data) : copy.data();
      files.write(file.aside(), {values, size}, bytes);
      lines += (f > 0 ? ", " : "") + std::to_string(bytes);
      bytes += static_cast<int64_t>(size);
    }
    lines += "]}\n";
    if (has_placed_points(fields_.mesh())) geometry_.add(block, fields_.mesh().axes);
  }
  file.finish(durable_);
  bytes += geometry_.finish(durable_);
  return lines;
}

/// Entries of the index: which part of the mesh a block is, and how much it has.
std::string WriteRaw::place_of(const stage::Step& step, const stage::Block& block) const {
  const auto& mesh = fields_.mesh();
  if (!is_mesh()) {
    const auto count = is_unstructured(mesh) ? block.count() : block.owned();
    std::string out = ", id: " + std::to_string(block.id()) + ", count: " + std::to_string(count);
    if (is_unstructured(mesh)) out += ", point_count: " + std::to_string(block.point_count());
    return out;
  }
  std::string out = ", lo: " + list(block.lo(), mesh.axes) + ", hi: " + list(block.hi(), mesh.axes);
  if (step.mesh(mesh.mesh).levels > 1) out += ", level: " + std::to_string(block.level());
  int64_t count = 1;
  for (int32_t d = 0; d < mesh.axes; ++d) count *= block.hi()[d] - block.lo()[d];
  return out + ", count: " + std::to_string(count);
}

std::string WriteRaw::write_mesh_index(const stage::Step& step) const {
  if (!has_placed_points(fields_.mesh())) return "";
  int64_t is_new = mesh_index_.empty() || geometry_.have_changed() ? 1 : 0;
  step.max(std::span(&is_new, 1));
  if (is_new == 0) return mesh_index_;
  const auto& mine = geometry_.entries();
  const auto all = gather_values(step, std::vector<char>(mine.begin(), mine.end()));
  const auto path = path_of(step.index(), ".mesh.yaml");
  if (step.peer() != 0) return path;
  std::string text = step.origin(name_, "Points and cells of blocks") + "blocks:";
  text += all.empty() ? " []\n" : "\n" + std::string(all.begin(), all.end());
  write_whole(std::filesystem::path(step.product_folder()) / path, std::as_bytes(std::span(text)),
              durable_);
  return path;
}

void WriteRaw::write_step_index(const stage::Step& step, const std::string& mesh,
                                const std::string& blocks) const {
  std::string text = step.origin(name_, "Blocks of a step");
  if (fields_.mesh().mesh_kind == PILLION_PARTICLES)
    text += "domain: " + text_of(step.domain(fields_.mesh().mesh)) + "\n";
  text += coordinates_of(step.mesh(fields_.mesh().mesh));
  if (!mesh.empty()) text += "mesh: " + mesh + "\n";
  text += "coarsening: " + std::to_string(step.coarsening(fields_.mesh().mesh)) +
          "\nblocks:" + (blocks.empty() ? " []\n" : "\n" + blocks);
  write_whole(std::filesystem::path(step.product_folder()) / path_of(step.index(), ".yaml"),
              std::as_bytes(std::span(text)), durable_);
}

void WriteRaw::write_index(const stage::Step& step) const {
  const auto& mesh = fields_.mesh();
  const bool is_spectral = mesh.mesh_kind == PILLION_SPECTRAL;
  std::string text = "mesh: " + text_of(step.mesh(mesh.mesh), mesh) + "\norder: \"";
  text += is_spectral
              ? "points of an element, the first axis fastest, then components, then elements"
              : "components, then the first axis, fastest";
  text += "\"\nfields:\n";
  for (size_t f = 0; f < fields_.names.size(); ++f)
    text += "  - {name: " + in_quotes(fields_.names[f]) +
            ", type: " + in_quotes(type_name(fields_.fields[f].type)) +
            ", components: " + std::to_string(fields_.fields[f].components) +
            ", units: " + in_quotes(fields_.fields[f].units) + centering(fields_.fields[f]) + "}\n";
  text += "steps:\n";
  for (const auto& of : steps_.steps())
    text += "  - {step: " + std::to_string(of.step) + ", time: " + real(of.time) +
            ", coarsening: " + std::to_string(of.coarsening) +
            ", index: " + in_quotes(path_of(of.step, ".yaml")) + "}\n";
  step.write_text(name_ + ".raw.yaml", "Values of " + name_ + " by rank", "", text, durable_);
}

void WriteRaw::save(stage::State& state) const {
  steps_.save(state);
  costs_.save(state);
}

void WriteRaw::restore(stage::State& state) {
  steps_.restore(state);
  costs_.restore(state);
}

namespace {

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "Fields to write, all on one mesh of any kind"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "A file gets its name only when it is on disk"},
};

}  // namespace

}  // namespace pillion::stages::write_raw

PILLION_STAGE(pillion::stages::write_raw::WriteRaw, "write_raw",
              "Values as each rank has them, in files of its own",
              pillion::stages::write_raw::parameters)
