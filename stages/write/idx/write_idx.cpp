// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_idx`: multiresolution datasets, readable coarse levels first. Chooses what the
// user has not: boxes, bitmask, sizes of blocks and files; and keeps a table of what each step has
// cost.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <pillion/error.hpp>
#include <pillion/idx/dataset.hpp>
#include <string>
#include <vector>

#include "../../common/options.hpp"
#include "../../common/rows.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"
#include "block_plan.hpp"
#include "boxes.hpp"
#include "compression.hpp"
#include "writer.hpp"

namespace pillion::stages::write_idx {

class WriteIdx final : public stage::Stage {
 public:
  explicit WriteIdx(stage::Setup& setup);

  void run(stage::Step& step) override;
  void finish(stage::Step& step) override {
    if (writer_ && !steps_.is_list_due()) list_steps(step, writer_->dataset());
  }
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  void read_numbers(const stage::Setup& setup);
  void read_box(const stage::Value& box);
  /// Lists the fields of the dataset: fields of the simulation, or components of fields that
  /// readers could not take in one.
  void list_sources(const BlockCompression& compression);
  [[nodiscard]] stage::Input input() const;
  [[nodiscard]] std::array<int, 3> sides_of(const stage::Step& step,
                                            const std::vector<SampleBox>& boxes) const;
  [[nodiscard]] idx::Dataset dataset_for(const std::array<int, 3>& sides) const;
  void begin(const stage::Step& step, const std::vector<SampleBox>& boxes);
  /// Whether there is a dataset on disk, or in the state, that this run continues. [peers]
  [[nodiscard]] bool is_continued(const stage::Step& step, const idx::Dataset& dataset) const;
  /// The list of steps, without any.
  [[nodiscard]] write::StepList no_steps() const { return {fields_, name_, name_ + ".idx", name_}; }
  void check_restored() const;
  /// Writes the dataset's text. [peers]
  void list_steps(const stage::Step& step, const idx::Dataset& dataset) const;
  void make_whole(std::vector<SampleBox>& boxes) const;
  void note(const stage::Step& step, IdxCost cost);
  [[nodiscard]] stage::Table table() const;
  void add_boxes(stage::Table& table) const;

  write::WrittenFields fields_;
  std::string name_;
  Region region_;  ///< that is written
  int phases_ = 3;
  pillion_side side_ = PILLION_SIDE_FIT;  ///< unless sides are given
  bool is_given_ = false;
  std::array<int, 3> given_sides_{};
  int64_t bits_per_block_ = 0, blocks_per_file_ = 0;  ///< 0: to be chosen
  int left_out_ = 0;
  IdxOptions options_;
  std::vector<idx::Field> dataset_fields_;
  std::vector<write::Source> sources_;
  std::string split_;  ///< fields whose components are apart
  int32_t input_ = 0;

  std::unique_ptr<IdxWriter> writer_;
  bool is_resumed_ = false;
  std::string restored_;        ///< text of the dataset that this run continues, if it had begun
  std::array<int, 3> sides_{};  ///< of boxes, as the bitmask has them
  size_t aggregators_ = 0;
  write::StepList steps_;
  Rows rows_;
  int64_t coarse_ = 0;  ///< publications that were not whole, and so not written
};

namespace {

/// A dataset, if that is what a text is.
std::optional<idx::Dataset> dataset_in(const std::string& text) {
  try {
    if (!text.empty()) return idx::Dataset::parse(text, "the dataset on disk");
  } catch (const Error&) {}
  return {};
}

/// Whether samples of one lie where those of the other do, and are stored in the same way.
bool are_alike(const idx::Dataset& a, const idx::Dataset& b) {
  return a.lo == b.lo && a.hi == b.hi && a.axes == b.axes && a.mask == b.mask &&
         a.bits_per_block == b.bits_per_block && a.blocks_per_file == b.blocks_per_file &&
         a.left_out == b.left_out && a.files == b.files && a.times.folder == b.times.folder &&
         idx::Dataset::parse(a.text(), "a").fields == idx::Dataset::parse(b.text(), "b").fields;
}

/// Whether the format's usual reader takes elements of `bytes` bytes.
bool is_readable(size_t bytes) {
  return bytes <= 32 || bytes == 64 || bytes == 128 || bytes == 256 || bytes == 512 ||
         bytes == 1024;
}

idx::Type type_of(pillion_type type) {
  switch (type) {
    case PILLION_INT32: return idx::Type::int32;
    case PILLION_INT64: return idx::Type::int64;
    case PILLION_FLOAT32: return idx::Type::float32;
    case PILLION_INT8: return idx::Type::int8;
    case PILLION_UINT8: return idx::Type::uint8;
    case PILLION_INT16: return idx::Type::int16;
    case PILLION_UINT16: return idx::Type::uint16;
    case PILLION_UINT32: return idx::Type::uint32;
    case PILLION_UINT64: return idx::Type::uint64;
    default: return idx::Type::float64;
  }
}

int covering(int64_t count) {
  return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(count, 1) - 1));
}

/// As many hexadecimal digits as numbers of blocks have, by four to a folder.
std::string file_template(const std::string& name, int64_t blocks) {
  int digits = std::max(1, (covering(blocks) + 3) / 4);
  std::string out = ".bin";
  for (; digits > 0; digits -= 4) {
    const std::string token = "/%0" + std::to_string(std::min(digits, 4)) + "x";
    out = token + out;
  }
  return "./" + name + out;
}

int64_t integer_or_auto(const stage::Value& value, int64_t most) {
  if (value.is_scalar() && value.text() == "auto") return 0;
  return integer_from(value, 1, most);
}

}  // namespace

WriteIdx::WriteIdx(stage::Setup& setup)
    : fields_(setup),
      name_(dataset_name(setup, fields_.mesh().mesh)),
      region_(region_from(setup["region"], fields_.mesh())),
      steps_(no_steps()) {
  read_numbers(setup);
  read_box(setup["box"]);
  const BlockCompression compression(setup["compression"], fields_);
  if (options_.direct && compression.codec() != idx::Codec::raw)
    setup["compression"].fail(
        "blocks are compressed where they are put together, and with `phases: 1` no rank does "
        "that; use 2 or 3 phases, or `compression: none`");
  list_sources(compression);
  constexpr int64_t most_bytes = int64_t{1} << 30;  // what sizes and codecs can tell
  for (const auto& field : dataset_fields_)
    if (bits_per_block_ > 0 &&
        static_cast<int64_t>(field.sample_size()) > most_bytes >> bits_per_block_)
      setup["bits_per_block"].fail("blocks of field '" + field.name +
                                   "' would have more than 1 GiB; take fewer bits");
  input_ = setup.input(input());
  // Parts of blocks, and their codes. If few ranks write for all, also the blocks that a rank keeps
  // for them, and at a writer those of two rounds.
  setup.memory(options_.direct ? 0.5 : 2, int64_t{4} << 20);
  setup.product(name_ + ".idx");
  setup.survives_failures();
}

void WriteIdx::read_numbers(const stage::Setup& setup) {
  phases_ = static_cast<int>(integer_from(setup["phases"], 1, 3));
  options_.direct = phases_ == 1;
  options_.aggregators = static_cast<size_t>(integer_or_auto(setup["aggregators"], most_counted));
  options_.durable = setup["durable"].boolean();
  options_.at_once = integer_from(setup["at_once"], 0, most_counted);
  bits_per_block_ = integer_or_auto(setup["bits_per_block"], 28);
  blocks_per_file_ = integer_or_auto(setup["blocks_per_file"], int64_t{1} << 40);
  left_out_ = static_cast<int>(integer_from(setup["leave_out"], 0, 62));
}

void WriteIdx::read_box(const stage::Value& box) {
  if (box.is_scalar()) {
    constexpr pillion_side sides[] = {PILLION_SIDE_FIT, PILLION_SIDE_ENLARGED,
                                      PILLION_SIDE_FIT_CUBE, PILLION_SIDE_ENLARGED_CUBE};
    side_ = sides[choice(box, {"fit", "enlarged", "cube", "enlarged_cube"})];
    return;
  }
  is_given_ = true;
  if (!box.is_list() || box.size() != fields_.mesh().axes)
    box.fail(
        "expected fit, enlarged, cube, enlarged_cube, or the number of samples along each of the " +
        std::to_string(fields_.mesh().axes) + " axes");
  for (int64_t d = 0; d < box.size(); ++d) {
    const int64_t side = integer_from(box[d], 1, int64_t{1} << 40);
    if (!std::has_single_bit(static_cast<uint64_t>(side)))
      box[d].fail("sides of boxes are powers of two, which " + std::to_string(side) + " is not");
    given_sides_[static_cast<size_t>(d)] =
        std::min(covering(side), covering(fields_.mesh().cells[d]));
  }
}

void WriteIdx::list_sources(const BlockCompression& compression) {
  const auto codec = compression.codec();
  for (size_t f = 0; f < fields_.names.size(); ++f) {
    const auto& field = fields_.fields[f];
    const size_t size = write::WrittenFields::element_size(field);
    const auto type = type_of(field.type);
    if (is_readable(size) && (field.components == 1 || compression.takes_vectors())) {
      dataset_fields_.push_back(
          {fields_.names[f], type, field.components, codec, 0, compression.loss(f)});
      sources_.push_back({f, 0});
      continue;
    }
    split_ += (split_.empty() ? "" : ", ") + fields_.names[f];
    for (int c = 0; c < field.components; ++c) {
      dataset_fields_.push_back(
          {fields_.names[f] + "_" + std::to_string(c), type, 1, codec, 0, compression.loss(f)});
      sources_.push_back({f, static_cast<size_t>(c) * idx::size_of(type)});
    }
  }
}

stage::Input WriteIdx::input() const {
  if (phases_ < 3) return stage::Input::as_shared(fields_.names);
  auto sides = given_sides_;
  if (!is_given_) sides.fill(side_);
  return stage::Input::powers_of_two(fields_.names, {sides[0], sides[1], sides[2]}).in_parts();
}

// Boxes at the ends of what is written are made whole, so that they have as few runs as others;
// no reader shows the rest.
void WriteIdx::make_whole(std::vector<SampleBox>& boxes) const {
  const idx::Point whole{int64_t{1} << sides_[0], int64_t{1} << sides_[1], int64_t{1} << sides_[2]};
  for (auto& box : boxes) {
    auto& shape = box.shape;
    bool is_cut = true;  // by the region alone: other boxes may come later
    for (size_t a = 0; a < static_cast<size_t>(fields_.mesh().axes); ++a) {
      const int64_t first = shape.lo[a] / whole[a] * whole[a];
      is_cut = is_cut && shape.lo[a] == std::max(first, region_.lo[a]) &&
               shape.end[a] == std::min(first + whole[a], region_.hi[a]);
    }
    for (size_t a = 0; is_cut && a < 3; ++a) {
      shape.first[a] = shape.lo[a] / whole[a] * whole[a];
      shape.hi[a] = shape.first[a] + whole[a];
    }
  }
}

// Sides that follow from blocks are not told, but the largest box has them.
std::array<int, 3> WriteIdx::sides_of(const stage::Step& step,
                                      const std::vector<SampleBox>& boxes) const {
  if (is_given_) return given_sides_;
  std::array<int64_t, 3> most{1, 1, 1};
  for (const auto& box : boxes)
    for (size_t a = 0; a < 3; ++a) most[a] = std::max(most[a], box.shape.end[a] - box.shape.lo[a]);
  step.max(std::span<int64_t>(most));
  std::array<int, 3> sides{};
  for (size_t a = 0; a < static_cast<size_t>(fields_.mesh().axes); ++a)
    sides[a] = std::min(covering(most[a]), covering(fields_.mesh().cells[a]));
  return sides;
}

idx::Dataset WriteIdx::dataset_for(const std::array<int, 3>& sides) const {
  const auto& mesh = fields_.mesh();
  idx::Dataset out;
  out.axes = mesh.axes;
  std::array<double, 6> physical{};
  for (size_t a = 0; a < static_cast<size_t>(mesh.axes); ++a) {
    out.lo[a] = region_.lo[a];
    out.hi[a] = region_.hi[a];
    const auto at = [&](int64_t cell) {
      const double part = static_cast<double>(cell) / static_cast<double>(mesh.cells[a]);
      return mesh.origin[a] + mesh.length[a] * part;
    };
    physical[2 * a] = at(out.lo[a]);
    physical[2 * a + 1] = at(out.hi[a]);
  }
  out.physical_box = physical;
  out.fields = dataset_fields_;
  out.mask = idx::Bitmask::of_boxes(out.hi, sides);
  const int box_bits = sides[0] + sides[1] + sides[2];
  const int64_t usual = std::clamp<int64_t>(box_bits - 4, 8, 15);
  out.bits_per_block = static_cast<int>(
      std::min<int64_t>(bits_per_block_ > 0 ? bits_per_block_ : usual, out.mask.bits()));
  const int64_t block_bytes =
      out.block_samples() * static_cast<int64_t>(fields_.bytes_per_sample());
  out.left_out = std::min(left_out_, out.mask.bits());
  const int64_t data_bytes =
      (out.samples() >> out.left_out) * static_cast<int64_t>(fields_.bytes_per_sample());
  const int64_t stored_blocks = std::max<int64_t>(out.blocks() >> out.left_out, 1);
  out.blocks_per_file = blocks_per_file_ > 0
                            ? blocks_per_file_
                            : usual_blocks_per_file(data_bytes, stored_blocks, block_bytes);
  out.files = file_template(name_, out.blocks());
  out.times.folder = "time%09d/";
  return out;
}

// What an earlier run left under this name is removed, unless this one continues it.
void WriteIdx::begin(const stage::Step& step, const std::vector<SampleBox>& boxes) {
  const auto sides = sides_of(step, boxes);
  const std::filesystem::path folder = step.product_folder();
  auto dataset =
      restored_.empty() ? dataset_for(sides) : idx::Dataset::parse(restored_, name_ + ".idx");
  options_.shared_blocks = dataset.blocks();
  if (phases_ == 3)
    options_.shared_blocks = std::max<int64_t>(
        1,
        dataset.blocks() >> std::max(0, sides[0] + sides[1] + sides[2] - dataset.bits_per_block));
  if (!is_continued(step, dataset)) steps_ = no_steps();
  const bool forgets = steps_.begin(step);
  dataset.times.forget_from(std::numeric_limits<int64_t>::min());
  for (const auto& of : steps_.steps()) dataset.times.add(of.step, of.time);
  // Steps that will be written again leave the list first, or a reader would find them half done.
  if (forgets) list_steps(step, dataset);
  sides_ = sides;
  writer_ = std::make_unique<IdxWriter>(std::move(dataset), sources_, folder, options_);
  aggregators_ = writer_->writers_among(static_cast<size_t>(step.peers()));
}

bool WriteIdx::is_continued(const stage::Step& step, const idx::Dataset& dataset) const {
  if (!is_resumed_ || !restored_.empty()) return is_resumed_;
  const std::filesystem::path folder = step.product_folder();
  const auto found = dataset_in(write::text_on_disk(step, folder / (name_ + ".idx")));
  return found && are_alike(*found, dataset);
}

void WriteIdx::list_steps(const stage::Step& step, const idx::Dataset& dataset) const {
  std::string title = "Dataset of";
  for (size_t f = 0; f < fields_.names.size(); ++f)
    title += (f > 0 ? ", " : " ") + fields_.names[f];
  step.write_text(name_ + ".idx", title, "# ", dataset.text(), options_.durable);
}

void WriteIdx::run(stage::Step& step) {
  if (step.coarsening(fields_.mesh().mesh) > 1) {
    ++coarse_;
    if (writer_ && !rows_.empty()) step.write(table());
    return;
  }
  SampleBoxes boxes(step, input_, fields_.mesh().axes, phases_ == 3);
  if (!writer_) begin(step, boxes.all());
  clip(boxes.all(), region_);
  if (phases_ == 3) make_whole(boxes.all());
  note(step, writer_->write(boxes.all(), step));
  writer_->dataset().times.add(step.index(), step.time());
  steps_.add(step, {step.index(), step.time(), 1, 0});
  if (steps_.is_list_due()) list_steps(step, writer_->dataset());
  step.write(table());
}

// After the reductions every peer's part is written, and the step can be listed.
void WriteIdx::note(const stage::Step& step, IdxCost cost) {
  std::array times{cost.plan, cost.encode, cost.exchange, cost.write};
  std::array<int64_t, 4> counts{cost.bytes, cost.sent, cost.files, cost.runs};
  step.max(std::span<double>(times));
  step.sum(std::span<int64_t>(counts));
  rows_.add("step", "", step.index());
  const char* const of_times[] = {"plan_seconds", "encode_seconds", "exchange_seconds",
                                  "write_seconds"};
  const char* const of_counts[] = {"bytes", "bytes_sent", "files", "runs"};
  for (size_t n = 0; n < times.size(); ++n) rows_.add(of_times[n], "s", times[n]);
  for (size_t n = 0; n < counts.size(); ++n) rows_.add(of_counts[n], "", counts[n]);
  rows_.end_row();
}

stage::Table WriteIdx::table() const {
  stage::Table out("write_" + name_, "Writing of " + name_);
  rows_.put_into(out);
  const auto& dataset = writer_->dataset();
  out.attribute("bits", dataset.mask.text());
  out.attribute("bits_per_block", dataset.bits_per_block);
  out.attribute("blocks_per_file", static_cast<double>(dataset.blocks_per_file));
  out.attribute("phases", phases_);
  out.attribute("aggregators", static_cast<double>(aggregators_));
  if (phases_ == 3) add_boxes(out);
  if (!split_.empty()) out.attribute("split_into_components", split_);
  if (coarse_ > 0) out.attribute("coarse_not_written", static_cast<double>(coarse_));
  return out;
}

void WriteIdx::add_boxes(stage::Table& table) const {
  std::string sides;
  int64_t boxes = 1;
  for (size_t a = 0; a < static_cast<size_t>(fields_.mesh().axes); ++a) {
    const int64_t side = int64_t{1} << sides_[a];
    sides += (a > 0 ? " x " : "") + std::to_string(side);
    boxes *= (fields_.mesh().cells[a] + side - 1) / side;
  }
  table.attribute("box", sides);
  table.attribute("boxes", static_cast<double>(boxes));
}

void WriteIdx::save(stage::State& state) const {
  const std::string text = writer_ ? writer_->dataset().text() : restored_;
  state.save("dataset", std::vector<char>(text.begin(), text.end()));
  rows_.save(state);
  steps_.save(state);
  state.save("coarse", std::vector<int64_t>{coarse_});
}

void WriteIdx::restore(stage::State& state) {
  const auto text = state.load<char>("dataset");
  restored_.assign(text.begin(), text.end());
  rows_.restore(state);
  steps_.restore(state);
  coarse_ = state.load<int64_t>("coarse").at(0);
  is_resumed_ = true;
  if (!restored_.empty()) check_restored();
}

void WriteIdx::check_restored() const {
  const auto saved = idx::Dataset::parse(restored_, name_ + ".idx");
  auto asked = saved;
  asked.lo = region_.lo;
  asked.hi = region_.hi;
  asked.fields = dataset_fields_;
  asked.left_out = std::min(left_out_, saved.mask.bits());
  if (bits_per_block_ > 0)
    asked.bits_per_block = static_cast<int>(std::min<int64_t>(bits_per_block_, saved.mask.bits()));
  if (blocks_per_file_ > 0) asked.blocks_per_file = blocks_per_file_;
  if (!are_alike(asked, saved))
    throw Error(ErrorCode::Configuration,
                "dataset '" + name_ +
                    "' was saved with other parameters; use those, or give the analysis "
                    "another name to start a new dataset");
}

namespace {

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "Fields to write, all on one uniform mesh"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"phases", "1 | 2 | 3", "3",
     "3: boxes of powers of two, blocks put together, large writes; 2: without such boxes; 1: "
     "every rank writes what it has"},
    {"box", "fit | enlarged | cube | enlarged_cube | [side, …]", "fit",
     "Sides of the boxes, which are powers of two: such as hold the longest shared block along "
     "each axis, twice that, the same for cubes, or as given"},
    {"bits_per_block", "integer | auto", "auto", "log2 of the number of samples in a block"},
    {"blocks_per_file", "integer | auto", "auto", "Blocks in a file"},
    {"aggregators", "integer | auto", "auto",
     "Ranks that write blocks for all; auto: one for each file if more than 16 would write to it, "
     "else every rank writes its own"},
    {"compression", "none | zip | lz4 | zfp | {zfp: {tolerance | precision: …}}", "none",
     "Of each block"},
    {"region", "[[first, end], …]", "null",
     "The cells that are written, along each axis; all if left out"},
    {"leave_out", "integer", "0", "How many of the finest levels are not written"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "List a step only when it is on disk"},
};

}  // namespace

}  // namespace pillion::stages::write_idx

PILLION_STAGE(pillion::stages::write_idx::WriteIdx, "write_idx",
              "Fields as multiresolution IDX datasets", pillion::stages::write_idx::parameters)
