// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_raw`: files of values, one for each rank and step, and a YAML index of their
// blocks.

#include <bit>
#include <chrono>
#include <cstdio>
#include <list>
#include <string>
#include <vector>

#include "../../common/files.hpp"
#include "../../common/messages.hpp"
#include "../../common/options.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"

namespace pillion::stages::write_raw {

class WriteRaw final : public stage::Stage {
 public:
  explicit WriteRaw(stage::Setup& setup);

  void run(stage::Step& step) override;
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  [[nodiscard]] bool is_mesh() const { return has_boxes(fields_.mesh()); }
  [[nodiscard]] std::string path_of(int64_t step, const std::string& end) const;
  /// Writes what this peer has; returns the lines of the index for it.
  std::string write_blocks(const stage::Step& step, const std::string& path, int64_t& bytes) const;
  void write_step_index(const stage::Step& step, const std::string& blocks) const;
  void write_index(const stage::Step& step) const;
  void note(const stage::Step& step, double seconds, int64_t bytes);

  write::WrittenFields fields_;
  std::string name_;
  bool durable_;
  int64_t at_once_;
  int32_t input_ = 0;
  write::StepList steps_;
  bool has_begun_ = false;
  std::vector<int64_t> written_, bytes_;  ///< steps, and what they took
  std::vector<double> seconds_;
};

namespace {

/// In NumPy's notation.
std::string type_name(pillion_type type) {
  const std::string order = std::endian::native == std::endian::little ? "<" : ">";
  switch (type) {
    case PILLION_INT32: return order + "i4";
    case PILLION_INT64: return order + "i8";
    case PILLION_FLOAT32: return order + "f4";
    default: return order + "f8";
  }
}

std::string real(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  // YAML 1.1 readers take 1e-05 for a text unless there is a point.
  std::string out = text;
  const auto exponent = out.find('e');
  if (exponent != std::string::npos && out.find('.') == std::string::npos)
    out.insert(exponent, ".0");
  return out;
}

std::string list(const int64_t* numbers, int32_t count) {
  std::string out = "[";
  for (int32_t n = 0; n < count; ++n) out += (n > 0 ? ", " : "") + std::to_string(numbers[n]);
  return out + "]";
}

std::string list(const double* numbers, int64_t count = 3) {
  std::string out = "[";
  for (int64_t n = 0; n < count; ++n) out += (n > 0 ? ", " : "") + real(numbers[n]);
  return out + "]";
}

std::string text_of(const pillion_domain& domain) {
  const auto axis = [&](size_t d) { return domain.periodic[d] != 0 ? "true" : "false"; };
  return "{lo: " + list(domain.lo) + ", hi: " + list(domain.hi) + ", tilt: " + list(domain.tilt) +
         ", periodic: [" + axis(0) + ", " + axis(1) + ", " + axis(2) + "]" +
         (domain.dimensions == 2 ? ", dimensions: 2}" : "}");
}

/// What the mesh's axes measure, if not lengths alone.
std::string metric_of(const pillion_mesh& mesh) {
  if (mesh.metric == PILLION_CARTESIAN) return "";
  if (mesh.metric == PILLION_CYLINDRICAL) return ", metric: cylindrical";
  return ", metric: spherical" + (mesh.radius > 0 ? ", radius: " + real(mesh.radius) : "");
}

/// Of the cells' faces, which a program may change at any step; nothing of other meshes.
std::string coordinates_of(const pillion_mesh& mesh) {
  if (mesh.kind != PILLION_RECTILINEAR) return "";
  std::string out = "coordinates:\n";
  for (int32_t d = 0; d < mesh.axes; ++d)
    out += "  - " + list(mesh.coordinates[d], mesh.cells[d] + 1) + "\n";
  return out;
}

/// Of each finer level to the one before, along each axis; nothing if there is one level.
std::string ratios_of(const pillion_mesh& mesh) {
  std::string out;
  for (int32_t l = 0; l + 1 < mesh.levels; ++l) {
    const int32_t* ratio = mesh.ratios + 3 * l;
    const int64_t numbers[] = {ratio[0], ratio[1], ratio[2]};
    out += (l > 0 ? ", " : ", ratios: [") + list(numbers, mesh.axes);
  }
  return out.empty() ? out : out + "]";
}

std::string centering(const pillion_field_description& field) {
  if (field.mesh_kind != PILLION_SPECTRAL) return "";
  return field.centering == PILLION_POINT ? ", centering: point" : ", centering: cell";
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

WriteRaw::WriteRaw(stage::Setup& setup)
    : fields_(setup, true),
      name_(dataset_name(setup, fields_.mesh().mesh)),
      durable_(setup["durable"].boolean()),
      at_once_(integer_from(setup["at_once"], 0)),
      steps_(fields_, name_, name_ + ".raw.yaml", name_ + "_raw") {
  fields_.expect_no_cells(setup, "write_raw");
  input_ = setup.input(stage::Input::as_shared(fields_.names).with_levels());
  setup.memory(1);  // a packed copy
  setup.product(name_ + ".raw.yaml");
}

std::string WriteRaw::path_of(int64_t step, const std::string& end) const {
  char number[32];
  std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(step));
  return name_ + "_raw/" + name_ + "." + number + end;
}

void WriteRaw::run(stage::Step& step) {
  if (!has_begun_ && steps_.begin(step)) write_index(step);
  has_begun_ = true;
  const double begun = seconds_now();
  char number[32];
  std::snprintf(number, sizeof number, ".%06d.raw", step.peer());
  const auto path = path_of(step.index(), number);
  std::string lines;
  int64_t bytes = 0;
  step.agree();
  step.in_turn(at_once_, [&] { lines = write_blocks(step, path, bytes); });
  const auto all = gather_values(step, std::vector<char>(lines.begin(), lines.end()));
  if (step.peer() == 0) write_step_index(step, {all.begin(), all.end()});
  step.agree();
  steps_.add(step, {step.index(), step.time(), step.coarsening(fields_.mesh().mesh), 0});
  write_index(step);
  note(step, seconds_now() - begun, bytes);
}

std::string WriteRaw::write_blocks(const stage::Step& step, const std::string& path,
                                   int64_t& bytes) const {
  if (step.block_count(input_) == 0) return "";
  UnfinishedFile file(std::filesystem::path(step.product_folder()) / path);
  OpenFiles files;
  std::string lines;
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    int64_t extent[3] = {block.owned(), 1, 1};
    lines += "  - {file: " + path;
    if (is_mesh()) {
      for (int32_t d = 0; d < fields_.mesh().axes; ++d) extent[d] = block.hi()[d] - block.lo()[d];
      lines += ", lo: " + list(block.lo(), fields_.mesh().axes) +
               ", hi: " + list(block.hi(), fields_.mesh().axes);
      if (step.mesh(fields_.mesh().mesh).levels > 1)
        lines += ", level: " + std::to_string(block.level());
    }
    lines += ", count: " + std::to_string(extent[0] * extent[1] * extent[2]) + ", offsets: [";
    for (int32_t f = 0; f < block.array_count(); ++f) {
      const auto& array = block[f];
      const size_t size =
          static_cast<size_t>(extent[0] * extent[1] * extent[2]) *
          write::WrittenFields::element_size(fields_.fields[static_cast<size_t>(f)]);
      const Bytes copy =
          write::is_packed(array, extent) ? Bytes{} : write::close_packed(array, extent);
      const auto* values = copy.empty() ? static_cast<const std::byte*>(array.data) : copy.data();
      files.write(file.aside(), {values, size}, bytes);
      lines += (f > 0 ? ", " : "") + std::to_string(bytes);
      bytes += static_cast<int64_t>(size);
    }
    lines += "]}\n";
  }
  file.finish(durable_);
  return lines;
}

void WriteRaw::write_step_index(const stage::Step& step, const std::string& blocks) const {
  std::string text = step.origin(name_, "Blocks of a step");
  if (fields_.mesh().mesh_kind == PILLION_PARTICLES)
    text += "domain: " + text_of(step.domain(fields_.mesh().mesh)) + "\n";
  text += coordinates_of(step.mesh(fields_.mesh().mesh));
  text += "coarsening: " + std::to_string(step.coarsening(fields_.mesh().mesh)) +
          "\nblocks:" + (blocks.empty() ? " []\n" : "\n" + blocks);
  write_whole(std::filesystem::path(step.product_folder()) / path_of(step.index(), ".yaml"),
              std::as_bytes(std::span(text)), durable_);
}

void WriteRaw::write_index(const stage::Step& step) const {
  const auto& mesh = fields_.mesh();
  std::string text = "mesh: {name: \"" + std::string(mesh.mesh) + "\"";
  if (is_mesh()) {
    text += ", cells: " + list(mesh.cells, mesh.axes);
    if (mesh.mesh_kind == PILLION_UNIFORM)
      text +=
          ", origin: " + list(mesh.origin, mesh.axes) + ", length: " + list(mesh.length, mesh.axes);
    else text += ", kind: rectilinear";
    text += metric_of(step.mesh(mesh.mesh)) + ratios_of(step.mesh(mesh.mesh));
    if (mesh.is_partial != 0) text += ", covered: partial";
  }
  const bool is_spectral = mesh.mesh_kind == PILLION_SPECTRAL;
  if (is_spectral)
    text += ", order: " + std::to_string(mesh.order) + ", coordinates: \"" + mesh.coordinates +
            "\"" + (mesh.axes == 2 ? ", dimensions: 2" : "");
  text += "}\norder: \"";
  text += is_spectral
              ? "points of an element, the first axis fastest, then components, then elements"
              : "components, then the first axis, fastest";
  text += "\"\nfields:\n";
  for (size_t f = 0; f < fields_.names.size(); ++f)
    text += "  - {name: \"" + fields_.names[f] + "\", type: \"" +
            type_name(fields_.fields[f].type) +
            "\", components: " + std::to_string(fields_.fields[f].components) + ", units: \"" +
            fields_.fields[f].units + "\"" + centering(fields_.fields[f]) + "}\n";
  text += "steps:\n";
  for (const auto& of : steps_.steps())
    text += "  - {step: " + std::to_string(of.step) + ", time: " + real(of.time) +
            ", coarsening: " + std::to_string(of.coarsening) +
            ", index: " + path_of(of.step, ".yaml") + "}\n";
  step.write_text(name_ + ".raw.yaml", "Values of " + name_ + " by rank", "", text, durable_);
}

void WriteRaw::note(const stage::Step& step, double seconds, int64_t bytes) {
  step.max(std::span(&seconds, 1));
  step.sum(std::span(&bytes, 1));
  written_.push_back(step.index());
  seconds_.push_back(seconds);
  bytes_.push_back(bytes);
  stage::Table table("write_" + name_ + "_raw", "Writing of " + name_ + " by rank");
  table.column("step", "", written_).column("write_seconds", "s", seconds_);
  step.write(table.column("bytes", "", bytes_));
}

void WriteRaw::save(stage::State& state) const {
  steps_.save(state);
  state.save("written", written_);
  state.save("seconds", seconds_);
  state.save("bytes", bytes_);
}

void WriteRaw::restore(stage::State& state) {
  steps_.restore(state);
  written_ = state.load<int64_t>("written");
  seconds_ = state.load<double>("seconds");
  bytes_ = state.load<int64_t>("bytes");
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
