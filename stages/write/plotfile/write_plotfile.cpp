// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_plotfile`: a folder of AMReX's format for each step. Every peer writes the boxes
// of a level to one file; the first lists all of them. The folder gets its name when it is whole.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../../common/files.hpp"
#include "../../common/messages.hpp"
#include "../../common/names.hpp"
#include "../../common/options.hpp"
#include "../cost_table.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"
#include "format.hpp"

namespace pillion::stages::write_plotfile {
namespace {

namespace fs = std::filesystem;

/// Components that lie interleaved are fields of their own in a plotfile.
std::vector<std::string> component_names(const write::WrittenFields& fields,
                                         const stage::Value& place) {
  std::vector<std::string> out;
  for (size_t f = 0; f < fields.names.size(); ++f)
    for (int32_t c = 0; c < fields.fields[f].components; ++c)
      out.push_back(fields.fields[f].components == 1 ? fields.names[f]
                                                     : fields.names[f] + "_" + std::to_string(c));
  std::set<std::string> taken;
  for (const auto& name : out)
    if (!taken.insert(name).second)
      place.fail("a plotfile would have '" + name +
                 "' twice, as a field and as a component of another; rename one of the two");
  return out;
}

/// One component of a block's valid cells, as reals of type To; notes the least and largest finite
/// value, since readers of the format cannot read others. 0 if no value is finite.
template <class To>
void pack(const stage::Block& block, const stage::Array& array, int32_t component, std::byte* to,
          Extremes& extremes) {
  const int64_t* lo = block.inner_lo();
  const int64_t* hi = block.inner_hi();
  double least = std::numeric_limits<double>::infinity(), largest = -least;
  array.visit([&](const auto* from) {
    from += component * array.strides[3];
    for (int d = 0; d < 3; ++d) from += (lo[d] - block.lo()[d]) * array.strides[d];
    for (int64_t k = 0; k < hi[2] - lo[2]; ++k)
      for (int64_t j = 0; j < hi[1] - lo[1]; ++j) {
        const auto* row = from + j * array.strides[1] + k * array.strides[2];
        for (int64_t i = 0; i < hi[0] - lo[0]; ++i) {
          const auto value = static_cast<To>(row[i * array.strides[0]]);
          std::memcpy(to, &value, sizeof value);  // which need not be aligned there
          to += sizeof value;
          if (!std::isfinite(value)) continue;
          least = std::min(least, static_cast<double>(value));
          largest = std::max(largest, static_cast<double>(value));
        }
      }
  });
  extremes.least.push_back(least <= largest ? least : 0);
  extremes.largest.push_back(least <= largest ? largest : 0);
}

/// A folder's entries are on disk, too.
void sync_folder(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_good = file >= 0 && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!is_good)
    throw Error(ErrorCode::File,
                "cannot write " + path.string() + " to disk: " + std::strerror(error));
}

/// Removes a peer's files of a plotfile that failed, and folders that are empty then. Other peers
/// may still write theirs; the last one to learn of the failure leaves nothing.
void remove_own(const fs::path& path, int32_t peer, int32_t levels) {
  std::error_code ignored;
  for (int32_t level = 0; level < levels; ++level) {
    fs::remove(path / level_name(level) / file_name(peer), ignored);
    if (peer == 0) fs::remove(path / level_name(level) / "Cell_H", ignored);
    fs::remove(path / level_name(level), ignored);
  }
  for (const char* name : {"Header", "job_info", "pillion.yaml"})
    if (peer == 0) fs::remove(path / name, ignored);
  fs::remove(path, ignored);
}

}  // namespace

class WritePlotfile final : public stage::Stage {
 public:
  explicit WritePlotfile(stage::Setup& setup);

  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (has_begun_ && !steps_.is_list_due()) write_index(step);
  }
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  [[nodiscard]] std::string folder() const { return name_ + "_plotfiles"; }
  [[nodiscard]] static std::string plotfile(int64_t step);
  void begin(const stage::Step& step);
  void remove_others(const fs::path& products) const;
  /// Adds to `bytes` and `boxes` what this peer has. [peers]
  void write_plotfile(const stage::Step& step, const fs::path& path, int64_t& bytes,
                      int64_t& boxes) const;
  /// Writes the boxes of this peer to its files in `path`.
  Contents write_boxes(const stage::Step& step, const fs::path& path, int64_t& bytes) const;
  [[nodiscard]] std::vector<std::byte> box_bytes(const stage::Block& block,
                                                 Extremes& extremes) const;
  [[nodiscard]] Contents gather(const stage::Step& step, const Contents& mine) const;
  void write_headers(const stage::Step& step, const Contents& contents, const fs::path& path) const;
  void name_folder(const stage::Step& step, int32_t levels, const fs::path& path) const;
  void write_index(const stage::Step& step) const;

  write::WrittenFields fields_;
  std::string name_;
  std::vector<std::string> components_;
  bool durable_;
  bool is_wide_ = false;  ///< values are doubles in files, as some field's are
  int64_t at_once_;
  int32_t input_ = 0;
  write::StepList steps_;
  write::CostTable costs_;
  bool has_begun_ = false;
};

WritePlotfile::WritePlotfile(stage::Setup& setup)
    : fields_(setup, true),
      name_(dataset_name(setup, fields_.mesh().mesh)),
      components_(component_names(fields_, setup["fields"])),
      durable_(setup["durable"].boolean()),
      at_once_(integer_from(setup["at_once"], 0, most_counted)),
      steps_(fields_, name_, name_ + ".visit", name_ + "_plotfiles"),
      costs_("write_" + name_ + "_plotfile", "Writing of " + name_ + " as plotfiles") {
  const auto list = setup["fields"];
  const auto& mesh = fields_.mesh();
  if (mesh.mesh_kind != PILLION_UNIFORM || mesh.metric != PILLION_CARTESIAN)
    list.fail("mesh '" + std::string(mesh.mesh) +
              "' is not a Cartesian mesh of equal cells, and plotfiles hold no others; write_hdf5 "
              "and write_raw take fields of any mesh");
  for (size_t f = 0; f < fields_.names.size(); ++f) {
    const auto type = fields_.fields[f].type;
    is_wide_ = is_wide_ || type == PILLION_FLOAT64;
    if (type != PILLION_FLOAT32 && type != PILLION_FLOAT64)
      list.fail("field '" + fields_.names[f] +
                "' holds integers, and plotfiles hold reals only; write it with write_hdf5 or "
                "write_raw");
  }
  input_ = setup.input(stage::Input::as_shared(fields_.names).with_levels());
  // The values of a box, which may be all that there is; singles become doubles beside doubles.
  double bytes = 0, values = 0;
  for (const auto& field : fields_.fields) {
    bytes += static_cast<double>(write::WrittenFields::element_size(field));
    values += field.components;
  }
  setup.memory(values * (is_wide_ ? sizeof(double) : sizeof(float)) / bytes);
  setup.product(name_ + ".visit");
  setup.product(folder());
  setup.survives_failures();
}

std::string WritePlotfile::plotfile(int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "plt%09lld", static_cast<long long>(step));
  return text;
}

/// Steps of an earlier run that this one will write again, and what a killed run has left.
void WritePlotfile::remove_others(const fs::path& products) const {
  std::set<std::string> kept{".steps"};
  for (const auto& of : steps_.steps()) kept.insert(plotfile(of.step));
  for (const auto& entry : fs::directory_iterator(products))
    if (!kept.contains(entry.path().filename().string())) fs::remove_all(entry.path());
}

void WritePlotfile::begin(const stage::Step& step) {
  if (!has_begun_ && steps_.begin(step)) write_index(step);
  const fs::path products = fs::path(step.product_folder()) / folder();
  if (step.peer() == 0) {
    if (!has_begun_) remove_others(products);
    const auto aside = UnfinishedFile::aside(products / plotfile(step.index()));
    fs::remove_all(aside);
    fs::create_directories(aside);
  }
  has_begun_ = true;
  step.agree();  // no peer writes into a folder that is being removed
}

void WritePlotfile::run(stage::Step& step) {
  begin(step);
  const write::Stopwatch watch;
  const fs::path path = fs::path(step.product_folder()) / folder() / plotfile(step.index());
  int64_t bytes = 0, boxes = 0;
  try {
    write_plotfile(step, path, bytes, boxes);
  } catch (...) {
    remove_own(UnfinishedFile::aside(path), step.peer(), fields_.mesh().levels);
    throw;
  }
  step.sum(std::span(&boxes, 1));
  steps_.add(step, {step.index(), step.time(), step.coarsening(fields_.mesh().mesh), boxes});
  if (steps_.is_list_due()) write_index(step);
  costs_.add(step, watch.seconds(), bytes, "boxes", boxes);
  step.write(costs_.table());
}

void WritePlotfile::write_plotfile(const stage::Step& step, const fs::path& path, int64_t& bytes,
                                   int64_t& boxes) const {
  Contents mine;
  step.in_turn(at_once_, [&] { mine = write_boxes(step, UnfinishedFile::aside(path), bytes); });
  boxes = static_cast<int64_t>(mine.boxes.size());
  const auto contents = gather(step, mine);
  if (step.peer() == 0) {
    write_headers(step, contents, UnfinishedFile::aside(path));
    name_folder(step, contents.levels(), path);
  }
  step.agree();
}

Contents WritePlotfile::write_boxes(const stage::Step& step, const fs::path& path,
                                    int64_t& bytes) const {
  Contents out;
  OpenFiles files(true, durable_);
  std::vector<int64_t> ends(static_cast<size_t>(step.mesh(fields_.mesh().mesh).levels));
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    StoredBox box{{}, {}, 0, block.level(), step.peer()};
    std::copy_n(block.inner_lo(), 3, box.lo.begin());
    std::copy_n(block.inner_hi(), 3, box.hi.begin());
    if (box.lo[0] >= box.hi[0] || box.lo[1] >= box.hi[1] || box.lo[2] >= box.hi[2]) continue;
    auto& end = ends.at(static_cast<size_t>(box.level));
    box.offset = end;
    const auto values = box_bytes(block, out.extremes.emplace_back());
    files.write(path / level_name(box.level) / file_name(step.peer()), values, end);
    end += static_cast<int64_t>(values.size());
    out.boxes.push_back(box);
  }
  if (durable_) files.sync();
  bytes = std::accumulate(ends.begin(), ends.end(), int64_t{0});
  return out;
}

std::vector<std::byte> WritePlotfile::box_bytes(const stage::Block& block,
                                                Extremes& extremes) const {
  Index lo{}, hi{};
  std::copy_n(block.inner_lo(), 3, lo.begin());
  std::copy_n(block.inner_hi(), 3, hi.begin());
  const auto head = box_header(fields_.mesh().axes, lo, hi, is_wide_, components_.size());
  const auto cells = static_cast<size_t>((hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]));
  const size_t size = cells * (is_wide_ ? sizeof(double) : sizeof(float));
  std::vector<std::byte> out(head.size() + size * components_.size());
  std::memcpy(out.data(), head.data(), head.size());
  std::byte* to = out.data() + head.size();
  for (int32_t f = 0; f < block.array_count(); ++f)
    for (int32_t c = 0; c < fields_.fields[static_cast<size_t>(f)].components; ++c, to += size) {
      if (is_wide_) pack<double>(block, block[f], c, to, extremes);
      else pack<float>(block, block[f], c, to, extremes);
    }
  return out;
}

Contents WritePlotfile::gather(const stage::Step& step, const Contents& mine) const {
  std::vector<double> extremes;
  for (const auto& of : mine.extremes) {
    extremes.insert(extremes.end(), of.least.begin(), of.least.end());
    extremes.insert(extremes.end(), of.largest.begin(), of.largest.end());
  }
  const auto boxes = gather_values(step, mine.boxes);
  const auto values = gather_values(step, extremes);
  // By level and place, so that the list does not depend on which peer has which box.
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t n) {
      const auto& box = boxes[n];
      return std::array{int64_t{box.level}, box.lo[2], box.lo[1], box.lo[0]};
    };
    return key(a) < key(b);
  });
  Contents out{components_, step.index(), step.time(), {}, {}};
  const auto count = static_cast<std::ptrdiff_t>(components_.size());
  for (const size_t n : order) {
    out.boxes.push_back(boxes[n]);
    const auto at = values.begin() + 2 * count * static_cast<std::ptrdiff_t>(n);
    out.extremes.push_back({{at, at + count}, {at + count, at + 2 * count}});
  }
  return out;
}

void WritePlotfile::write_headers(const stage::Step& step, const Contents& contents,
                                  const fs::path& path) const {
  const auto& mesh = step.mesh(fields_.mesh().mesh);
  const Geometry geometry(mesh);
  OpenFiles files;
  const auto put = [&](const fs::path& file, const std::string& text) {
    files.write(path / file, std::as_bytes(std::span(text)), 0);
  };
  for (int32_t l = 0; l < contents.levels(); ++l)
    put(level_name(l) + "/Cell_H", level_text(geometry, contents, l));
  put("Header", header_text(geometry, contents));
  put("job_info", job_text(geometry));
  std::string origin = step.origin(name_, "Plotfile of a step");
  origin += "mesh: " + in_quotes(mesh.name) + "\ncoarsening: " + std::to_string(mesh.coarsening) +
            "\nfields:\n";
  for (size_t f = 0; f < fields_.names.size(); ++f)
    origin += "  - {name: " + in_quotes(fields_.names[f]) +
              ", components: " + std::to_string(fields_.fields[f].components) +
              ", type: " + (fields_.fields[f].type == PILLION_FLOAT64 ? "float64" : "float32") +
              ", units: " + in_quotes(fields_.fields[f].units) + "}\n";
  put("pillion.yaml", origin);
  if (durable_) files.sync();
}

void WritePlotfile::name_folder(const stage::Step& step, int32_t levels,
                                const fs::path& path) const {
  const auto aside = UnfinishedFile::aside(path);
  if (durable_) {
    for (int32_t l = 0; l < levels; ++l) sync_folder(aside / level_name(l));
    sync_folder(aside);
  }
  if (!replace_folder(aside, path))  // there is one of a step that is written again
    throw Error(ErrorCode::File, "cannot give its name to " + path.string() + ": " +
                                     std::strerror(errno) + " at step " +
                                     std::to_string(step.index()));
  if (durable_) sync_folder(path.parent_path());
}

void WritePlotfile::write_index(const stage::Step& step) const {
  std::string text;
  for (const auto& of : steps_.steps()) text += folder() + "/" + plotfile(of.step) + "/Header\n";
  step.write_text(name_ + ".visit", "Plotfiles of " + name_, "# ", text, durable_);
}

void WritePlotfile::save(stage::State& state) const {
  steps_.save(state);
  costs_.save(state);
}

void WritePlotfile::restore(stage::State& state) {
  steps_.restore(state);
  costs_.restore(state);
}

namespace {

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "Fields of reals to write, all on one uniform mesh"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "A plotfile gets its name only when it is on disk"},
};

}  // namespace

}  // namespace pillion::stages::write_plotfile

PILLION_STAGE(pillion::stages::write_plotfile::WritePlotfile, "write_plotfile",
              "Fields as AMReX plotfiles, one for each step, with all levels",
              pillion::stages::write_plotfile::parameters)
