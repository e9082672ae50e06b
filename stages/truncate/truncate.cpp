// SPDX-License-Identifier: BSD-3-Clause
// The stage `truncate`: fields on spectral elements become Legendre coefficients. A bound on the
// error allows to drop some coefficients, which become 0, and the others are coarsely rounded. They
// are fields of the same mesh, for later stages, such as `encode`; each element is processed by
// itself.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../common/element_coding.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "element.hpp"

namespace pillion::stages::truncate {

// Geometries of all elements, computed again only where coordinates are not those of the
// publication before: most meshes stay.

class Geometries {
 public:
  Geometries(const LobattoBasis& basis, int axes)
      : finder_(basis, axes), size_(points_in(basis.size(), axes)), room_(size_) {}

  /// Looks at element number `element` among all of this peer, with the coordinates of its points:
  /// x of all, then y, then z.
  void look(size_t element, std::span<const double> coordinates) {
    if (element >= known_.size()) known_.resize(element + 1);
    Known& known = known_[element];
    const uint64_t sum = sum_of(coordinates);
    if (known.is_there && known.sum == sum) return;
    known = {.is_there = true, .sum = sum};
    const double* x = coordinates.data();
    known.geometry = finder_.find(x, x + size_, x + 2 * size_, room_);
    if (known.geometry.shares.empty()) return;
    known.shares = room_;
    known.geometry.shares = known.shares;
  }
  /// As it was when it was last looked at.
  const Geometry& operator[](size_t element) const { return known_[element].geometry; }

 private:
  struct Known {
    bool is_there = false;
    uint64_t sum = 0;
    Geometry geometry{};
    std::vector<double> shares{};
  };

  /// Of the bits of numbers, four at once (each step is one to one, so that a change of any one
  /// number is seen).
  static uint64_t sum_of(std::span<const double> numbers) {
    constexpr uint64_t factor = 0x9E3779B97F4A7C15U;
    uint64_t sums[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, &numbers[i], sizeof bits);
      sums[i % 4] = (sums[i % 4] ^ bits) * factor;
      sums[i % 4] ^= sums[i % 4] >> 29;
    }
    return ((sums[0] * factor + sums[1]) * factor + sums[2]) * factor + sums[3];
  }

  GeometryFinder finder_;
  size_t size_;
  std::vector<double> room_;
  std::vector<Known> known_;
};

// What a relative bound is relative to: the range of a field, or its root mean square over the
// volume, over all peers. Elements with values that are not finite do not count.

enum class Relative { none, range, rms };

/// Of one field, from what one peer has of it.
class FieldScale {
 public:
  FieldScale(const LobattoBasis& basis, int axes, size_t components)
      : least_(components, std::numeric_limits<double>::infinity()), most_(components, -least_[0]) {
    for (size_t p = 0; p < points_in(basis.size(), axes); ++p)
      shares_of_cube_.push_back(weight_of_point(basis, axes, p) / volume_of_reference(axes));
  }

  void add(size_t component, std::span<const double> values, const Geometry& geometry) {
    const auto shares =
        geometry.shares.empty() ? std::span<const double>(shares_of_cube_) : geometry.shares;
    double sum = 0, least = values[0], most = values[0];
    for (size_t p = 0; p < values.size(); ++p) {
      sum += shares[p] * values[p] * values[p];
      least = std::min(least, values[p]);
      most = std::max(most, values[p]);
    }
    if (!geometry.is_valid || !std::isfinite(sum)) return;
    squares_ += geometry.volume * sum;
    if (component == 0) volume_ += geometry.volume;
    least_[component] = std::min(least_[component], least);
    most_[component] = std::max(most_[component], most);
  }

  /// Numbers that peers reduce by the maximum.
  [[nodiscard]] std::vector<double> extremes() const {
    std::vector<double> out = most_;
    for (const double least : least_) out.push_back(-least);
    return out;
  }
  /// Numbers that peers reduce by the sum.
  [[nodiscard]] std::vector<double> sums() const { return {squares_, volume_}; }

  /// The largest range of any component, of what `extremes` has become.
  static double range(std::span<const double> extremes) {
    const size_t components = extremes.size() / 2;
    double out = 0;
    for (size_t c = 0; c < components; ++c)
      out = std::max(out, extremes[c] + extremes[components + c]);
    return out;
  }
  /// Of the magnitude of the vector that the components are, of what `sums` has become.
  static double rms(std::span<const double> sums) {
    return sums[1] > 0 ? std::sqrt(sums[0] / sums[1]) : 0;
  }

 private:
  std::vector<double> least_, most_;
  double squares_ = 0, volume_ = 0;
  std::vector<double> shares_of_cube_;
};

// The values of one component of one element of a block, as doubles that lie one after the other.

/// Refers to the block where it has them so, to `room` otherwise.
inline std::span<const double> element_values(const stage::Array& array, int64_t element,
                                              int64_t first, std::span<double> room) {
  const int64_t between = array.strides[3];
  const int64_t at = element * array.strides[0] + first * between;
  if (array.type == PILLION_FLOAT64 && between == 1)
    return {static_cast<const double*>(array.data) + at, room.size()};
  array.visit([&](const auto* data) {
    for (size_t p = 0; p < room.size(); ++p)
      room[p] = static_cast<double>(data[at + static_cast<int64_t>(p) * between]);
  });
  return room;
}

namespace {

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
        size_(points_in(basis_.size(), mesh_.axes)),
        geometries_(basis_, mesh_.axes),
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
    setup.memory(8 / bytes_of(setup, names));  // each point's share of a deformed element
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
                   "' must name the field of its `coordinates`");
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
    fields_.push_back(
        {name, field, ElementTruncation(basis_, field.type == PILLION_FLOAT32, mesh_.axes)});
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
        geometries_.look(number++, places(coordinates, e));
    }
  }

  /// Elements in a plane may have coordinates without z, which is 0 then.
  std::span<const double> places(const stage::Array& coordinates, int64_t element) {
    const std::span<double> all(place_);
    const auto there = all.first(static_cast<size_t>(coordinates.components));
    const auto found = element_values(coordinates, element, 0, there);
    if (there.size() == all.size() || found.data() == there.data())
      return there.size() == all.size() ? found : all;
    std::copy(found.begin(), found.end(), all.begin());
    return all;
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
      const double scale = is_range ? FieldScale::range(own) : FieldScale::rms(own);
      one.bound = std::isfinite(scale) ? rule_.bound * scale : 0;
    }
  }

  FieldScale scale_of(const stage::Step& step, size_t f) {
    const auto components = static_cast<size_t>(fields_[f].field.components);
    FieldScale out(basis_, mesh_.axes, components);
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
}  // namespace pillion::stages::truncate

PILLION_STAGE(pillion::stages::truncate::Truncate, "truncate",
              "Fields on spectral elements, in fewer numbers",
              pillion::stages::truncate::parameters)
