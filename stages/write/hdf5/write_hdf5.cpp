// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_hdf5`: a file for each step, or several that a further one shows as one. One
// peer makes a file, all fill it, and it gets its name.

#include <algorithm>
#include <bit>

#include "../../common/options.hpp"
#include "../../common/rows.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"
#include "writer.hpp"
#include "xdmf.hpp"

namespace pillion::stages::write_hdf5 {

namespace {

constexpr int64_t rows_of_chunk = 1 << 15;  ///< of particles, or points of elements
constexpr int64_t peers_of_file = 8;        ///< if the number of files is not given

/// The side of a chunk as a power of two: as large as can be so that there are chunks for many.
int usual_side(const pillion_field_description& mesh) {
  const int most = mesh.axes == 3 ? 6 : mesh.axes == 2 ? 9 : 15;
  const int least = mesh.axes == 3 ? 4 : mesh.axes == 2 ? 6 : 12;
  int64_t cells = 1;
  for (int32_t a = 0; a < mesh.axes; ++a) cells *= mesh.cells[a];
  const int enough = (std::bit_width(static_cast<uint64_t>(cells)) - 6) / mesh.axes;
  return std::clamp(enough, least, most);
}

class WriteHdf5 final : public stage::Stage {
 public:
  explicit WriteHdf5(stage::Setup& setup)
      : fields_(setup, true),
        name_(dataset_name(setup, fields_.mesh().mesh)),
        compression_(setup),
        writer_(compression_, setup["durable"].boolean(),
                integer_from(setup["at_once"], 0, most_counted)),
        steps_(fields_, name_, name_ + ".xmf", name_ + "_hdf5") {
    fields_.expect_no_cells(setup, "write_hdf5");
    read_files(setup);
    read_chunk(setup["chunk"]);
    read_position(setup["position"]);
    check_names(setup["fields"]);
    setup.product(name_ + "_hdf5");
    setup.survives_failures();
    input_ = setup.input(is_mesh() ? stage::Input::powers_of_two(fields_.names, bits_)
                                   : stage::Input::as_shared(fields_.names));
    setup.memory(is_mesh() ? 0.2 : 1.1);  // chunks being written; items in their order
  }

  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (has_begun_ && !steps_.is_list_due()) write_index(step);
  }
  void save(stage::State& state) const override {
    steps_.save(state);
    rows_.save(state);
  }
  void restore(stage::State& state) override {
    steps_.restore(state);
    rows_.restore(state);
  }

 private:
  [[nodiscard]] bool is_mesh() const { return has_boxes(fields_.mesh()); }
  void read_files(const stage::Setup& setup);
  void read_chunk(const stage::Value& chunk);
  [[nodiscard]] int bits_of_rows() const;
  void read_position(const stage::Value& position);
  void check_names(const stage::Value& list) const;
  [[nodiscard]] std::vector<StoredBlock> blocks_of_mesh(const stage::Step& step) const;
  [[nodiscard]] std::vector<StoredBlock> items(const stage::Step& step, Cells& all);
  [[nodiscard]] StepText text_of(const stage::Step& step) const;
  [[nodiscard]] int64_t files_of(const stage::Step& step) const;
  void write_index(const stage::Step& step) const;
  void note(stage::Step& step, Hdf5Cost cost);

  write::WrittenFields fields_;
  std::string name_, position_;
  Compression compression_;
  Hdf5Writer writer_;
  bool is_grouped_ = false;
  int64_t groups_ = 0;           ///< 0: by the number of peers
  std::array<int32_t, 3> bits_;  ///< of the sides of chunks
  int32_t input_ = 0;
  std::vector<Bytes> packed_;  ///< particles or elements as shared, without gaps
  write::StepList steps_;
  bool has_begun_ = false;
  Rows rows_;
};

void WriteHdf5::read_files(const stage::Setup& setup) {
  is_grouped_ = choice(setup["files"], {"shared", "grouped"}) == 1;
  const auto groups = setup["groups"];
  if (groups.is_scalar() && groups.text() == "auto") return;
  groups_ = integer_from(groups, 1, most_bins);
  if (!is_grouped_) groups.fail("`groups` goes with `files: grouped`");
}

/// Rows of elements have many values, so fewer rows make a chunk of the same size.
int WriteHdf5::bits_of_rows() const {
  int64_t most = 1;
  for (const auto& field : fields_.fields) most = std::max(most, points_of(field));
  const auto doublings = static_cast<int>(std::bit_width(static_cast<uint64_t>(most))) - 1;
  return std::max(0, std::countr_zero(uint64_t{rows_of_chunk}) - doublings);
}

void WriteHdf5::read_chunk(const stage::Value& chunk) {
  bits_.fill(is_mesh() ? usual_side(fields_.mesh()) : bits_of_rows());
  const bool is_auto = chunk.is_scalar() && chunk.text() == "auto";
  const auto sides = is_auto ? std::vector<int64_t>{} : chunk.integers();
  const auto axes = static_cast<size_t>(is_mesh() ? fields_.mesh().axes : 1);
  if (!is_auto && sides.size() != axes)
    chunk.fail("expected auto, or the number of cells along each of the " + std::to_string(axes) +
               " axes");
  for (size_t a = 0; a < sides.size(); ++a) {
    if (sides[a] < 1 || !std::has_single_bit(static_cast<uint64_t>(sides[a])))
      chunk.fail("sides of chunks are powers of two, which " + std::to_string(sides[a]) +
                 " is not");
    bits_[a] = std::countr_zero(static_cast<uint64_t>(sides[a]));
  }
  // What is longer than the mesh is cut off.
  for (size_t a = 0; is_mesh() && a < axes; ++a)
    bits_[a] = std::min<int32_t>(
        bits_[a], std::bit_width(static_cast<uint64_t>(fields_.mesh().cells[a] - 1)));
  int64_t bytes = 1;
  for (size_t a = 0; a < axes; ++a) bytes <<= bits_[a];
  size_t largest = 0;
  for (const auto& field : fields_.fields)
    largest = std::max(largest, write::WrittenFields::element_size(field));
  if (bytes * static_cast<int64_t>(largest) > int64_t{1} << 30)
    chunk.fail("a chunk would have more than 1 GiB");
}

void WriteHdf5::read_position(const stage::Value& position) {
  const bool particles = fields_.mesh().mesh_kind == PILLION_PARTICLES;
  if (position && !particles) position.fail("`position` goes with particles");
  for (size_t f = 0; f < fields_.names.size() && particles; ++f)
    if (fields_.fields[f].components == 3 &&
        fields_.names[f] == (position ? position.text() : "position"))
      position_ = fields_.names[f];
  if (position && position_.empty())
    position.fail("'" + position.text() + "' is not among the fields with 3 components");
}

void WriteHdf5::check_names(const stage::Value& list) const {
  auto taken = axis_names(fields_);
  taken.emplace_back("VTKHDF");
  for (const auto& name : face_names(fields_)) taken.push_back(name);
  for (const auto& field : fields_.fields) {
    taken.push_back(component_axis(field));
    for (const char* axis : point_axes(field)) taken.emplace_back(axis);
  }
  for (const auto& name : fields_.names)
    if (std::find(taken.begin(), taken.end(), name) != taken.end())
      list.fail("'" + name +
                "' is what the file calls something else; give the field another name");
}

std::vector<StoredBlock> WriteHdf5::blocks_of_mesh(const stage::Step& step) const {
  const auto axes = static_cast<size_t>(fields_.mesh().axes);
  std::vector<StoredBlock> out;
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    if (block.count() == 0) continue;
    auto& stored = out.emplace_back();
    for (size_t a = axes; a-- > 0;) {
      stored.lo.push_back(block.lo()[a]);
      stored.extent.push_back(block.hi()[a] - block.lo()[a]);
    }
    for (int32_t f = 0; f < block.array_count(); ++f)
      stored.arrays.push_back(static_cast<const std::byte*>(block[f].data));
  }
  return out;
}

// Particles and elements are in the order of the peers and of what these share.
std::vector<StoredBlock> WriteHdf5::items(const stage::Step& step, Cells& all) {
  std::vector<int64_t> counts(static_cast<size_t>(step.peers()));
  for (int32_t b = 0; b < step.block_count(input_); ++b)
    counts[static_cast<size_t>(step.peer())] += step.block(input_, b).owned();
  step.sum(std::span(counts));
  int64_t first = 0, total = 0;
  for (size_t p = 0; p < counts.size(); ++p) {
    if (p < static_cast<size_t>(step.peer())) first += counts[p];
    total += counts[p];
  }
  all = {total};
  packed_.clear();
  std::vector<StoredBlock> out;
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    const int64_t extent[3] = {block.owned(), 1, 1};
    if (block.owned() == 0) continue;
    auto& stored = out.emplace_back(StoredBlock{{first}, {block.owned()}, {}});
    first += block.owned();
    for (int32_t f = 0; f < block.array_count(); ++f) {
      const auto& array = block[f];
      const bool is_there = write::is_packed(array, extent);
      if (!is_there) packed_.push_back(write::close_packed(array, extent));
      stored.arrays.push_back(is_there ? static_cast<const std::byte*>(array.data)
                                       : packed_.back().data());
    }
  }
  return out;
}

StepText WriteHdf5::text_of(const stage::Step& step) const {
  const std::string mesh = fields_.mesh().mesh;
  StepText out{step.index(),       step.time(),      step.coarsening(mesh),
               step.units("time"), step.units(mesh), step.origin(name_, dataset_title(fields_))};
  if (fields_.mesh().mesh_kind == PILLION_PARTICLES) out.domain = step.domain(mesh);
  if (!is_mesh()) return out;
  const auto& now = step.mesh(mesh);
  out.metric = now.metric;
  out.radius = now.radius;
  for (int32_t a = 0; a < now.axes; ++a) {
    out.axis_units.push_back(length_units(now, a));
    if (now.coordinates[a] != nullptr)
      out.faces.emplace_back(now.coordinates[a], now.coordinates[a] + now.cells[a] + 1);
  }
  return out;
}

int64_t WriteHdf5::files_of(const stage::Step& step) const {
  if (!is_grouped_) return 1;
  return groups_ > 0 ? groups_ : std::max<int64_t>(1, step.peers() / peers_of_file);
}

void WriteHdf5::run(stage::Step& step) {
  const hdf5::Quiet quiet;
  if (!has_begun_ && steps_.begin(step)) write_index(step);
  has_begun_ = true;
  const auto text = text_of(step);
  Cells cells, sides;
  std::vector<StoredBlock> blocks;
  if (is_mesh()) {
    cells = kept_cells(fields_.mesh(), text.coarsening);
    blocks = blocks_of_mesh(step);
  } else {
    blocks = items(step, cells);
  }
  for (size_t d = cells.size(); d-- > 0;) sides.push_back(int64_t{1} << bits_[d]);
  const Chunking chunking(cells, sides, files_of(step));
  const std::filesystem::path folder = step.product_folder();
  auto cost = writer_.write(step, fields_, chunking, std::move(blocks), text,
                            folder / step_path(name_, step.index()));
  steps_.add(step, {step.index(), step.time(), text.coarsening, product(cells)});
  if (steps_.is_list_due()) write_index(step);
  note(step, cost);
}

void WriteHdf5::write_index(const stage::Step& step) const {
  // XDMF has no meshes with one axis.
  if (is_mesh() ? fields_.mesh().axes == 1 : position_.empty()) return;
  const auto title = dataset_title(fields_);
  const Xdmf document{fields_, name_, position_, step.origin(name_, title), &step_path};
  const auto text = step.peer() == 0 ? document.text(steps_.steps()) : std::string();
  step.write_text(name_ + ".xmf", title, nullptr, text, writer_.is_durable());
}

void WriteHdf5::note(stage::Step& step, Hdf5Cost cost) {
  step.max(std::span<double>(cost.seconds));
  step.sum(std::span<int64_t>(cost.counts));
  rows_.add("step", "", step.index());
  const char* const seconds[] = {"filter_seconds", "write_seconds"};
  const char* const counts[] = {"bytes", "bytes_of_fields", "files"};
  for (size_t n = 0; n < std::size(seconds); ++n) rows_.add(seconds[n], "s", cost.seconds[n]);
  for (size_t n = 0; n < std::size(counts); ++n) rows_.add(counts[n], "", cost.counts[n]);
  rows_.end_row();
  stage::Table table("write_" + name_ + "_hdf5", "Writing of " + name_ + " as HDF5");
  rows_.put_into(table);
  step.write(table);
}

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "Fields to write, all on one mesh of any kind"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"files", "shared | grouped", "shared",
     "One file for a step, or several, each of one rank, that a further one shows as one"},
    {"groups", "integer | auto", "auto", "How many files with `files: grouped`; one for 8 ranks"},
    {"chunk", "[side, …] | auto", "auto", "Sides of chunks, which are powers of two"},
    {"compression", "none | gzip | zstd | blosc", "none", "Of each chunk"},
    {"shuffle", "true | false", "true", "Group bytes of equal significance before compression"},
    {"position", "field", "null",
     "Of particles: where viewers show them; that called position if left out"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "A file gets its name only when it is on disk"},
};

}  // namespace

}  // namespace pillion::stages::write_hdf5

PILLION_STAGE(pillion::stages::write_hdf5::WriteHdf5, "write_hdf5",
              "Fields as HDF5 files, one for each step", pillion::stages::write_hdf5::parameters)
