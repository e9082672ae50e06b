// SPDX-License-Identifier: BSD-3-Clause
// The stage `truncate`: fields on spectral elements become Legendre coefficients, of which those
// that a bound on the error allows to drop are 0 and the others are coarsely rounded. They are
// fields of the same mesh, for later stages, such as `encode`; each element is worked on by itself.
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/element_coding.hpp"
#include "../common/options.hpp"
#include "element.hpp"
#include "element_values.hpp"
#include "geometries.hpp"
#include "scale.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;
using namespace pillion::stages::truncation;

/// One field, and what becomes of it.
struct Truncated {
  std::string name;
  pillion_field_description field;
  ElementTruncation truncation;
  int32_t coefficients = 0, coding = 0;  ///< numbers of outputs
  double bound = 0;                      ///< at this publication, in the field's units
};

class Truncate final : public stage::Stage {
 public:
  explicit Truncate(stage::Setup& setup)
      : mesh_(first_field(setup)),
        basis_(mesh_.order),
        size_(basis_.size() * basis_.size() * basis_.size()),
        geometries_(basis_),
        relative_(static_cast<Relative>(choice(setup["relative_to"], {"none", "range", "rms"}))),
        room_(size_),
        place_(3 * size_),
        out_(size_) {
    rule_.bound = setup["error"].real();
    if (!(rule_.bound >= 0)) setup["error"].fail("a bound on the error is 0 or greater");
    rule_.norm = static_cast<Norm>(choice(setup["norm"], {"rms", "max"}));
    rule_.rounds = setup["round"].boolean();
    std::vector<std::string> names;
    for (const auto& name : setup["fields"].texts()) names.push_back(add(setup, name));
    names.emplace_back(mesh_.coordinates);
    input_ = setup.input(stage::Input::as_shared(names));
    for (auto& one : fields_) declare(setup, one);
  }

  void run(stage::Step& step) override {
    look_at_coordinates(step);
    find_bounds(step);
    size_t first = 0;  // elements of blocks before
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      for (size_t f = 0; f < fields_.size(); ++f) {
        if (fields_[f].field.type == PILLION_FLOAT32) truncate<float>(step, b, f, first);
        else truncate<double>(step, b, f, first);
      }
      first += static_cast<size_t>(block.count());
    }
  }

 private:
  static pillion_field_description first_field(const stage::Setup& setup) {
    const auto list = setup["fields"];
    if (!list.is_list() || list.size() == 0) list.fail("no fields are listed");
    const auto field = setup.field(list[0].text(), list[0]);
    if (field.mesh_kind != PILLION_SPECTRAL)
      list[0].fail("field '" + list[0].text() +
                   "' is not on a spectral mesh; stage encode compresses those of uniform meshes");
    if (std::string(field.coordinates).empty())
      list[0].fail("the error is over the volume: mesh '" + std::string(field.mesh) +
                   "' must say which field is its `coordinates`");
    if (field.order < fewest_points - 1 || field.order > most_points - 1)
      list[0].fail("elements of order " + std::to_string(field.order) +
                   " cannot be truncated; those of 1 to 15 can");
    return field;
  }

  std::string add(const stage::Setup& setup, const std::string& name) {
    const auto list = setup["fields"];
    const auto field = setup.field(name, list);
    const bool is_real = field.type == PILLION_FLOAT32 || field.type == PILLION_FLOAT64;
    if (std::string(field.mesh) != mesh_.mesh || field.centering != PILLION_POINT || !is_real)
      list.fail("field '" + name + "' is not one of reals at the points of mesh '" + mesh_.mesh +
                "'; truncate fields of other meshes in a stage of their own");
    fields_.push_back({name, field, ElementTruncation(basis_, field.type == PILLION_FLOAT32)});
    return name;
  }

  static void declare(const stage::Setup& setup, Truncated& one) {
    one.coefficients = setup.output(coefficients_of(one.name), one.name, one.field.type,
                                    one.field.components, one.field.units);
    one.coding =
        setup.output_centred(coding_of(one.name), one.name, PILLION_FLOAT64,
                             coding_size(one.field.components), PILLION_CELL, one.field.units);
  }

  void look_at_coordinates(const stage::Step& step) {
    size_t number = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const auto coordinates = block[static_cast<int32_t>(fields_.size())];
      for (int64_t e = 0; e < block.count(); ++e)
        geometries_.look(number++, element_values(coordinates, e, 0, place_));
    }
  }

  /// Bounds in the fields' units. Relative ones cost the peers one reduction.
  void find_bounds(const stage::Step& step) {
    for (auto& one : fields_) one.bound = rule_.bound;
    if (relative_ == Relative::none || rule_.bound == 0) return;
    std::vector<double> numbers, ends{0};
    for (size_t f = 0; f < fields_.size(); ++f) {
      const auto scale = scale_of(step, f);
      const auto some = relative_ == Relative::range ? scale.extremes() : scale.sums();
      numbers.insert(numbers.end(), some.begin(), some.end());
    }
    if (relative_ == Relative::range) step.max(std::span(numbers));
    else step.sum(std::span(numbers));
    size_t at = 0;
    for (auto& one : fields_) {
      const bool is_range = relative_ == Relative::range;
      const auto size = is_range ? 2 * static_cast<size_t>(one.field.components) : 2;
      const auto own = std::span<const double>(numbers).subspan(at, size);
      at += size;
      const double scale = is_range ? Scale::range(own) : Scale::rms(own);
      one.bound = std::isfinite(scale) ? rule_.bound * scale : 0;
    }
  }

  Scale scale_of(const stage::Step& step, size_t f) {
    const auto components = static_cast<size_t>(fields_[f].field.components);
    Scale out(basis_, components);
    size_t number = 0;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      for (int64_t e = 0; e < block.count(); ++e, ++number)
        for (size_t c = 0; c < components; ++c)
          out.add(c,
                  element_values(block[static_cast<int32_t>(f)], e, static_cast<int64_t>(c * size_),
                                 room_),
                  geometries_[number]);
    }
    return out;
  }

  template <class T>
  void truncate(const stage::Step& step, int32_t b, size_t f, size_t first) {
    const auto block = step.block(input_, b);
    auto& one = fields_[f];
    const auto array = block[static_cast<int32_t>(f)];
    const Rule rule{one.bound, rule_.norm, rule_.rounds};
    T* to = step.produce<T>(one.coefficients, input_, b);
    auto* coding = step.produce<double>(one.coding, input_, b);
    for (int64_t e = 0; e < block.count(); ++e) {
      const auto& shape = geometries_[first + static_cast<size_t>(e)];
      for (int32_t c = 0; c < one.field.components; ++c, to += size_) {
        const auto values = element_values(array, e, c * static_cast<int64_t>(size_), room_);
        const auto outcome = one.truncation.truncate(values.data(), shape, rule, out_.data());
        const auto& stored = outcome.step == as_values ? values : std::span<const double>(out_);
        for (size_t p = 0; p < size_; ++p) to[p] = static_cast<T>(stored[p]);
        for (const double number : {outcome.step, outcome.error, one.bound}) *coding++ = number;
      }
      *coding++ = shape.is_valid ? shape.volume : 0;
      *coding++ = static_cast<double>(rule_.norm);
    }
  }

  pillion_field_description mesh_;
  LobattoBasis basis_;
  size_t size_;
  Geometries geometries_;
  Rule rule_;
  Relative relative_;
  std::vector<Truncated> fields_;
  int32_t input_ = 0;
  std::vector<double> room_, place_, out_;
};

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields of reals at the points of one spectral mesh that names its coordinates"},
    {"error", "number", nullptr,
     "Bound on the error of each component; 0: nothing is lost, values stay as they are"},
    {"relative_to", "none | range | rms", "none",
     "What the bound is a part of: nothing (it is in the field's units), the largest range of a "
     "component, or the root mean square of the field's magnitude"},
    {"norm", "rms | max", "rms",
     "Which error is bounded: the root mean square over an element's volume, or that at any point"},
    {"round", "true | false", "true",
     "Whether coefficients that are kept are rounded as the bound allows; false: they stay exact, "
     "and as few as can be are kept"},
};

}  // namespace

PILLION_STAGE(Truncate, "truncate", "Fields on spectral elements, in fewer numbers", parameters)
