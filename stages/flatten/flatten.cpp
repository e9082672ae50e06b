// SPDX-License-Identifier: BSD-3-Clause
// The stage `flatten`: fields of a mesh with levels of refinement, or with missing cells, on all
// cells of one level, which is a uniform mesh. It is for later stages that need one.
#include <limits>
#include <memory>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "composite.hpp"

namespace pillion::stages::flatten {
namespace {

enum class By { average, inject, interpolate };

class Flatten final : public stage::Stage {
 public:
  explicit Flatten(stage::Setup& setup)
      : by_(static_cast<By>(choice(setup["by"], {"average", "inject", "interpolate"}))),
        missing_(setup["missing"] ? setup["missing"].real()
                                  : std::numeric_limits<double>::quiet_NaN()) {
    const auto names = setup["fields"];
    if (names.size() == 0) names.fail("no fields are listed");
    std::vector<std::string> read;
    for (const auto& name : names.texts()) {
      read.push_back(name);
      add_field(setup, name, names);
    }
    setup.require_whole_publications();
    input_ = setup.input(stage::Input::as_shared(read).with_levels());
    declare_outputs(setup);
    // Of each cell a double for each value and one for its weight, while it is sent and put
    // together.
    setup.memory(3 * 8 * static_cast<double>(width_ + 1) / bytes_of(setup, read));
  }

  void run(stage::Step& step) override {
    const auto& mesh = step.mesh(mesh_);
    if (!tiles_) tiles_.emplace(step, mesh);
    std::optional<Composite> whole;
    if (by_ == By::interpolate) {
      for (int level = 0; level <= level_; ++level) {
        auto next = put_together(step, level, false);
        if (whole)
          next.fill_from(with_neighbours(*whole, level - 1, width_, *tiles_, mesh, step), *tiles_);
        whole = std::move(next);
      }
    } else {
      whole = put_together(step, level_, true);
    }
    size_t first = 0;
    for (const auto& field : fields_) {
      if (field.description.type == PILLION_FLOAT32) write<float>(step, *whole, field, first);
      else write<double>(step, *whole, field, first);
      first += static_cast<size_t>(field.description.components);
    }
  }

 private:
  struct Field {
    pillion_field_description description;
    std::string name;
    int32_t output = 0;
  };

  void add_field(const stage::Setup& setup, const std::string& name, const stage::Value& place) {
    const auto field = setup.field(name, place);
    if (!has_boxes(field) || (field.levels == 1 && field.is_partial == 0 && !has_weight(field)))
      place.fail("field '" + name + "' is on mesh '" + field.mesh +
                 "', which has neither levels of refinement nor missing cells; leave flatten out");
    if (!fields_.empty() && mesh_ != field.mesh)
      place.fail("field '" + name + "' is on mesh '" + field.mesh + "', and '" +
                 fields_.front().name + "' on '" + mesh_ +
                 "'; flatten fields of one mesh at a time");
    if (field.type != PILLION_FLOAT32 && field.type != PILLION_FLOAT64)
      place.fail("field '" + name + "' is not of reals, so it has no means");
    mesh_ = field.mesh;
    levels_ = field.levels;
    width_ += static_cast<size_t>(field.components);
    fields_.push_back({field, name});
  }

  void declare_outputs(const stage::Setup& setup) {
    const auto level = setup["level"];
    if (level.text() == "finest") level_ = levels_ - 1;
    else level_ = static_cast<int>(integer_from(level, 0, 62));
    if (level_ >= levels_)
      level.fail("mesh '" + mesh_ + "' has " + std::to_string(levels_) +
                 (levels_ == 1 ? " level" : " levels") + ", counted from 0");
    const auto into = setup["into"];
    std::vector<std::string> names;
    if (into) names = into.texts();
    if (into && names.size() != fields_.size())
      into.fail("give as many names as there are fields: " + std::to_string(fields_.size()));
    const std::string suffix = "_level_" + std::to_string(level_);
    for (size_t f = 0; f < fields_.size(); ++f) {
      auto& field = fields_[f];
      field.output = setup.output_of(into ? names[f] : field.name + suffix, mesh_ + suffix,
                                     field.description.type, field.description.components,
                                     field.description.units);
    }
  }

  /// The values of one level: of blocks of that level and of finer ones, and of coarser ones if
  /// these are wanted. [peers]
  [[nodiscard]] Composite put_together(const stage::Step& step, int level,
                                       bool with_coarser) const {
    Mail mail(width_);
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      if (block.level() < level && !with_coarser) continue;
      const auto piece = piece_of(block, level);
      tiles_->for_each_peer(piece.box, piece.level, [&](int32_t peer, const Box& cells) {
        mail.put(peer, piece, common(piece.box, cells));
      });
    }
    Composite out(level, tiles_->mine(level), width_);
    for (const auto& piece : mail.exchange(step)) out.add(piece, *tiles_);
    out.divide();
    return out;
  }

  /// A block as cells of the level if it is finer, and as they are otherwise; without cells that
  /// finer blocks cover.
  [[nodiscard]] Piece piece_of(const stage::Block& block, int level) const {
    const bool is_finer = block.level() > level;
    const Index ratio = is_finer ? tiles_->ratio(level, block.level()) : Index{1, 1, 1};
    Box box;
    std::copy_n(block.lo(), 3, box.lo.begin());
    std::copy_n(block.hi(), 3, box.hi.begin());
    Piece piece{
        is_finer ? level : block.level(), block.level(), box.lo, coarsened(box, ratio), {}, {}};
    piece.values.resize(static_cast<size_t>(piece.box.volume()) * width_);
    piece.weights.resize(static_cast<size_t>(piece.box.volume()));
    const auto* flags = block.raw().flags == nullptr
                            ? nullptr
                            : static_cast<const uint8_t*>(block.raw().flags->data);
    const CellParts parts(by_ == By::inject ? nullptr : block.raw().weight);
    const double whole =
        by_ == By::inject ? 1 : 1 / static_cast<double>(ratio[0] * ratio[1] * ratio[2]);
    size_t first = 0;
    for (int32_t f = 0; f < block.array_count(); ++f) {
      const auto array = block[f];
      array.visit([&](const auto* data) {
        for_each_cell(box, [&](int64_t i, int64_t j, int64_t k) {
          if (flags != nullptr && flags[box.at(i, j, k)] != 0) return;
          if (by_ == By::inject && !is_middle({i, j, k}, ratio)) return;
          const auto to =
              static_cast<size_t>(piece.box.at(i / ratio[0], j / ratio[1], k / ratio[2]));
          const auto* cell = data + (i - box.lo[0]) * array.strides[0] +
                             (j - box.lo[1]) * array.strides[1] +
                             (k - box.lo[2]) * array.strides[2];
          const double part =
              parts.any() ? whole * parts.of(i - box.lo[0], j - box.lo[1], k - box.lo[2]) : whole;
          if (part == 0) return;  // the cell does not exist, and may hold anything
          if (f == 0) piece.weights[to] += part;
          for (int32_t c = 0; c < array.components; ++c)
            piece.values[to * width_ + first + static_cast<size_t>(c)] +=
                part * static_cast<double>(cell[c * array.strides[3]]);
        });
      });
      first += static_cast<size_t>(array.components);
    }
    return piece;
  }

  /// Whether the cell holds the centre of the coarser one; a centre between cells is of the upper.
  static bool is_middle(const Index& cell, const Index& ratio) {
    for (size_t d = 0; d < 3; ++d)
      if (cell[d] % ratio[d] != ratio[d] / 2) return false;
    return true;
  }

  template <class T>
  void write(const stage::Step& step, const Composite& whole, const Field& field,
             size_t first) const {
    const Box& box = whole.box();
    if (box.volume() == 0) return;
    T* out = step.produce_box<T>(field.output, box.lo, box.hi);
    for (int64_t cell = 0; cell < box.volume(); ++cell)
      for (int32_t c = 0; c < field.description.components; ++c)
        *out++ = static_cast<T>(
            whole.is_known(cell) ? whole.values(cell)[first + static_cast<size_t>(c)] : missing_);
  }

  By by_;
  double missing_;
  std::vector<Field> fields_;
  std::string mesh_;
  int levels_ = 1, level_ = 0;
  size_t width_ = 0;  ///< values of all fields in a cell
  int32_t input_ = 0;
  std::optional<Tiles> tiles_;
};

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields on a mesh with levels of refinement, or with missing cells"},
    {"level", "integer | finest", nullptr, "Level whose cells the result has; 0 is the coarsest"},
    {"by", "average | inject | interpolate", "average",
     "What cells get from finer and from coarser ones: means and the value; the value at their "
     "centre and the value; means and a linear interpolation"},
    {"into", "list of names", "null", "Names of the fields that are made; NAME_level_L by default"},
    {"missing", "number", "null", "Value of cells that do not exist; not a number by default"},
};

}  // namespace
}  // namespace pillion::stages::flatten

PILLION_STAGE(pillion::stages::flatten::Flatten, "flatten",
              "Fields of a mesh with levels as fields of one uniform mesh",
              pillion::stages::flatten::parameters)
