// SPDX-License-Identifier: BSD-3-Clause
// Boxes of uniform meshes, component by component.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../common/options.hpp"
#include "box_stream.hpp"
#include "coded_fields.hpp"
#include "zfp_box.hpp"

namespace pillion::stages::encode {
namespace {

/// Whether it is SZ3, otherwise zfp.
bool is_sz3(const stage::Setup& setup) {
  const auto codec = setup["codec"];
  const auto name = codec.text();
  if (name == "sz3") {
    require_sz3(codec);
    return true;
  }
  if (name != "auto" && name != "zfp")
    codec.fail("fields of a uniform mesh are compressed by zfp or sz3, not by '" + name + "'");
#ifndef PILLION_ZFP
  setup["fields"].fail(
      "this build of Pillion lacks zfp, the default codec for fields of uniform meshes; set "
      "codec: sz3");
#endif
  return false;
}

}  // namespace

UniformFields::UniformFields(const stage::Setup& setup)
    : is_sz3_(is_sz3(setup)),
      relative_(choice(setup["relative_to"], {"none", "range", "rms"})),
      is_largest_(choice(setup["norm"], {"rms", "max"}) == 1) {
  const auto error = setup["error"], list = setup["fields"];
  if (!error) list.fail("on a uniform mesh a bound is needed: parameter 'error'; 0 loses nothing");
  error_ = error.real();
  if (!(error_ >= 0)) error.fail("a bound on the error is 0 or greater");
  for (const auto& name : list.texts()) {
    const auto field = setup.field(name, list);
    const bool is_real = field.type == PILLION_FLOAT32 || field.type == PILLION_FLOAT64;
    if (field.mesh_kind != PILLION_UNIFORM || !is_real)
      list.fail("field '" + name + "' is not one of reals on a uniform mesh, as the first is");
    fields_.push_back({name, field});
    if (std::string(field.mesh) != mesh())
      list.fail("field '" + name + "' is not on mesh '" + mesh() + "', as the first is");
  }
  input_ = setup.input(stage::Input::blocks(names()));
  setup.memory(3.2);  // of noise, which cannot be compressed: bricks, their codes, and messages
}

std::vector<std::string> UniformFields::names() const {
  std::vector<std::string> out;
  for (const auto& one : fields_) out.push_back(one.name);
  return out;
}

std::vector<Attribute> UniformFields::attributes(const stage::Step& step) const {
  const auto& field = fields_.front().field;
  std::vector<double> cells;
  for (int32_t d = 0; d < field.axes; ++d) {
    const auto factor = static_cast<int64_t>(step.coarsening(mesh()));
    cells.push_back(static_cast<double>((field.cells[d] + factor - 1) / factor));
  }
  return {{"cells", cells},
          {"mesh_origin", std::vector<double>(field.origin, field.origin + field.axes)},
          {"mesh_length", std::vector<double>(field.length, field.length + field.axes)}};
}

void UniformFields::find_bounds(const stage::Step& step) {
  for (auto& one : fields_) one.bound = error_;
  if (relative_ == 0 || error_ == 0) return;
  std::vector<double> most, sums;
  for (size_t f = 0; f < fields_.size(); ++f) {
    double square = 0, count = 0, high = -std::numeric_limits<double>::infinity(), low = high;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      block[static_cast<int32_t>(f)].visit([&](const auto* values) {
        const int64_t numbers = block.count() * fields_[f].field.components;
        for (int64_t i = 0; i < numbers; ++i) {
          const auto value = static_cast<double>(values[i]);
          if (!std::isfinite(value)) continue;
          square += value * value;
          high = std::max(high, value);
          low = std::max(low, -value);
        }
        count += static_cast<double>(block.count());
      });
    }
    most.insert(most.end(), {high, low});
    sums.insert(sums.end(), {square, count});
  }
  if (relative_ == 1) step.max(std::span(most));
  else step.sum(std::span(sums));
  for (size_t f = 0; f < fields_.size(); ++f) {
    const double scale =
        relative_ == 1 ? most[2 * f] + most[2 * f + 1] : std::sqrt(sums[2 * f] / sums[2 * f + 1]);
    fields_[f].bound = std::isfinite(scale) ? error_ * scale : 0;
  }
}

std::vector<StoredArray> UniformFields::arrays(const stage::Step& step,
                                               std::vector<Figures>& figures) {
  find_bounds(step);
  std::vector<StoredArray> out;
  for (size_t f = 0; f < fields_.size(); ++f) {
    const auto& field = fields_[f].field;
    auto& array = out.emplace_back(
        StoredArray{fields_[f].name, {"coded", "component", "x0", "y0", "z0", "x1", "y1", "z1"}});
    array.attributes = {{"type", std::string(type_name(field.type))},
                        {"components", int64_t{field.components}},
                        {"units", std::string(field.units)},
                        {"codec", std::string(is_sz3_ ? "sz3" : "zfp")}};
    figures[f].is_largest = is_largest_;
    figures[f].squares.resize(static_cast<size_t>(field.components));
    figures[f].bound = fields_[f].bound;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto place = static_cast<int32_t>(f);
      if (field.type == PILLION_FLOAT32)
        pack<float>(step.block(input_, b), place, array, figures[f]);
      else pack<double>(step.block(input_, b), place, array, figures[f]);
    }
  }
  return out;
}

template <class T>
void UniformFields::pack(const stage::Block& block, int32_t place, StoredArray& to,
                         Figures& figures) const {
  const auto& one = fields_[static_cast<size_t>(place)];
  const auto components = one.field.components;
  Box box{.axes = one.field.axes};
  std::vector<int64_t> about{1, 0};
  for (size_t d = 0; d < 3; ++d) about.push_back(block.lo()[d]);
  for (size_t d = 0; d < 3; ++d) about.push_back(block.hi()[d]);
  for (size_t d = 0; d < static_cast<size_t>(box.axes); ++d)
    box.extent[d] = block.hi()[d] - block.lo()[d];
  const auto all = block.values<T>(place);
  std::vector<T> values(static_cast<size_t>(block.count()));
  figures.volume += static_cast<double>(block.count());
  for (int32_t c = 0; c < components; ++c) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = all[i * static_cast<size_t>(components) + static_cast<size_t>(c)];
    const Limit limit{one.bound, is_largest_};
    auto stream = worth_storing(
        is_sz3_ ? sz3_within<T>(box, values, limit) : zfp_within<T>(box, values, limit),
        values.size() * sizeof(T));
    about[0] = stream.bytes.empty() ? 0 : 1;
    about[1] = c;
    if (stream.bytes.empty()) {
      const auto bytes = std::as_bytes(std::span(values));
      stream.bytes.assign(bytes.begin(), bytes.end());
    }
    figures.bytes_in += static_cast<int64_t>(values.size() * sizeof(T));
    figures.bytes_out += static_cast<int64_t>(stream.bytes.size());
    figures.values += block.count();
    figures.kept += block.count();
    figures.untouched += about[0] == 0 || stream.square == 0 ? 1 : 0;
    figures.squares[static_cast<size_t>(c)] += stream.square;
    figures.largest = std::max(figures.largest, stream.largest);
    to.pieces.push_back({std::move(stream.bytes), about});
  }
}

}  // namespace pillion::stages::encode
