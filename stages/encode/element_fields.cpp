// SPDX-License-Identifier: BSD-3-Clause
// Finding what is there, and packing it a number of elements at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "../common/element_coding.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "coded_fields.hpp"

namespace pillion::stages::encode {
namespace {

/// Enough for the code to learn what is frequent, and few enough for the processor's cache.
constexpr int64_t elements_of_packet = 512;

/// Whether the simulation shares such a field, or an earlier stage of the chain has made it.
bool is_there(const stage::Setup& setup, const std::string& name) {
  try {
    (void)setup.field(name, setup["fields"]);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ElementFields::ElementFields(const stage::Setup& setup)
    : mesh_(setup.field(setup["fields"][0].text(), setup["fields"])), coder_(coder_of(setup)) {
  for (const auto& name : setup["fields"].texts()) add(setup, name);
  put_continuity(setup);
  put_numbers(setup);
  put_coordinates(setup);
  expect_no_clash(setup);
  put_periods(setup);
  input_ = setup.input(stage::Input::as_shared(input_names_));
  setup.memory(2);  // of noise: codes, and messages
}

int32_t ElementFields::place_of(const std::string& name) {
  const auto at = std::find(input_names_.begin(), input_names_.end(), name);
  const auto place = static_cast<int32_t>(at - input_names_.begin());
  if (at == input_names_.end()) input_names_.push_back(name);
  return place;
}

void ElementFields::add(const stage::Setup& setup, const std::string& name) {
  const auto list = setup["fields"];
  const auto field = setup.field(name, list);
  const bool is_real = field.type == PILLION_FLOAT32 || field.type == PILLION_FLOAT64;
  if (std::string(field.mesh) != mesh_.mesh || field.centering != PILLION_POINT || !is_real)
    list.fail("field '" + name + "' is not one of reals at the points of mesh '" + mesh_.mesh +
              "'; encode fields of other meshes in a stage of their own");
  One one{name, field};
  const auto coefficients = coefficients_of(name);
  if (is_there(setup, coefficients)) {
    one.array = place_of(coefficients);
    one.coding = place_of(coding_of(name));
  } else {
    one.array = place_of(name);
  }
  fields_.push_back(one);
}

// Only the user knows: what is decoded may jump by the bound whether or not the field does.
void ElementFields::put_continuity(const stage::Setup& setup) {
  const auto value = setup["continuous"];
  if (!value.is_list()) {
    for (auto& one : fields_) one.is_continuous = value.boolean();
    return;
  }
  for (const auto& name : value.texts()) {
    const auto at = std::find_if(fields_.begin(), fields_.end(),
                                 [&](const One& one) { return one.name == name; });
    if (at == fields_.end()) value.fail("field '" + name + "' is not listed in `fields`");
    at->is_continuous = true;
  }
}

void ElementFields::put_numbers(const stage::Setup& setup) {
  const auto wanted = setup["numbers"];
  if (!wanted) return;
  const bool is_auto = wanted.text() == "auto";
  const auto name = is_auto ? std::string("number") : wanted.text();
  if (name == "none" || (is_auto && !is_there(setup, name))) return;
  const auto field = setup.field(name, wanted);
  const bool is_integer = field.type == PILLION_INT32 || field.type == PILLION_INT64;
  if (std::string(field.mesh) == mesh_.mesh && field.centering == PILLION_CELL &&
      field.components == 1 && is_integer)
    numbers_ = place_of(name);
  else if (!is_auto)
    wanted.fail("'" + name + "' is not an integer of each element of mesh '" + mesh_.mesh + "'");
}

void ElementFields::put_coordinates(const stage::Setup& setup) {
  when_ = static_cast<Coordinates>(choice(setup["coordinates"], {"once", "each", "none"}));
  const std::string name = mesh_.coordinates;
  if (name.empty()) when_ = Coordinates::none;
  if (when_ == Coordinates::none) return;
  coordinates_ = {name, setup.field(name, setup["fields"]), place_of(name)};
}

void ElementFields::put_periods(const stage::Setup& setup) {
  const auto periods = setup["periods"];
  if (!periods) return;
  for (int64_t i = 0; i < periods.size(); ++i) periods_.push_back(periods[i].real());
  const bool is_good =
      periods_.size() == static_cast<size_t>(mesh_.axes) &&
      std::all_of(periods_.begin(), periods_.end(), [](double p) { return p >= 0; });
  if (!is_good)
    periods.fail(std::string("expected ") + (mesh_.axes == 2 ? "two" : "three") +
                 " lengths after which the mesh repeats, 0 where it does not");
}

/// In a file, coordinates and numbers have names as fields do.
void ElementFields::expect_no_clash(const stage::Setup& setup) const {
  const auto list = setup["fields"];
  for (const auto& one : fields_) {
    if (when_ != Coordinates::none && one.name == coordinates_.name)
      list.fail("field '" + one.name + "' is stored as the mesh's coordinates: leave it out, or " +
                "say `coordinates: none`");
    if (has_numbers() && one.name == "numbers")
      list.fail("a field called 'numbers' conflicts with the elements' numbers, which have this " +
                std::string("name in the file: set `numbers: none`, or rename the field"));
  }
}

std::vector<std::string> ElementFields::names() const {
  std::vector<std::string> out;
  for (const auto& one : fields_) out.push_back(one.name);
  return out;
}

std::vector<StoredArray> ElementFields::arrays(const stage::Step& step,
                                               std::vector<Figures>& figures) {
  std::vector<StoredArray> out;
  for (size_t f = 0; f < fields_.size(); ++f) out.push_back(stored(step, fields_[f], figures[f]));
  if (has_numbers()) out.push_back(stored_numbers(step));
  has_own_coordinates_ =
      when_ == Coordinates::each || (when_ == Coordinates::once && !has_elements_of_first(step));
  Figures ignored;
  if (has_own_coordinates_) out.push_back(stored(step, coordinates_, ignored));
  return out;
}

bool ElementFields::has_elements_of_first(const stage::Step& step) {
  if (step.coarsening(mesh_.mesh) != 1) return false;
  // How many there are, and a sum that is another one if some are others: of their numbers, spread
  // over all bits by a multiple of 2^64 over the golden ratio.
  std::array<int64_t, 2> elements{};
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    elements[0] += block.count();
    if (!has_numbers()) continue;
    const auto array = block[numbers_];
    array.visit([&](const auto* numbers) {
      for (int64_t e = 0; e < block.count(); ++e) {
        const auto number = static_cast<uint64_t>(numbers[e * array.strides[0]]);
        const uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15U;
        elements[1] += static_cast<int64_t>((mixed ^ mixed >> 29U) >> 16U);
      }
    });
  }
  step.sum(std::span<int64_t>(elements));
  if (first_elements_.empty()) first_elements_.assign(elements.begin(), elements.end());
  return std::equal(elements.begin(), elements.end(), first_elements_.begin());
}

std::vector<StoredArray> ElementFields::once(const stage::Step& step) {
  std::vector<StoredArray> out;
  if (when_ != Coordinates::once || has_own_coordinates_) return out;
  Figures ignored;
  out.push_back(stored(step, coordinates_, ignored));
  if (has_numbers()) out.push_back(stored_numbers(step));
  return out;
}

std::vector<Attribute> ElementFields::attributes(const stage::Step&) const {
  std::vector<Attribute> out{{"order", int64_t{mesh_.order}},
                             {"coordinates", std::string(mesh_.coordinates)}};
  if (mesh_.axes == 2) out.push_back({"dimensions", int64_t{2}});
  if (!periods_.empty()) out.push_back({"periods", periods_});
  return out;
}

StoredArray ElementFields::stored(const stage::Step& step, const One& one, Figures& figures) const {
  StoredArray out{one.name, {"coded", "raw", "elements"}};
  out.attributes = {{"type", std::string(type_name(one.field.type))},
                    {"components", int64_t{one.field.components}},
                    {"units", std::string(one.field.units)},
                    {"codec", std::string(coder_.codec->name)},
                    {"continuous", int64_t{one.is_continuous ? 1 : 0}}};
  figures.squares.resize(static_cast<size_t>(one.field.components));
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    if (one.field.type == PILLION_FLOAT32) pack<float>(step.block(input_, b), one, out, figures);
    else pack<double>(step.block(input_, b), one, out, figures);
  }
  return out;
}

namespace {

/// Elements from `first` on, each with `numbers` numbers, one after the other.
template <class T>
PacketSource<T> source_of(const stage::Array& array, int64_t first, int64_t count, int64_t numbers,
                          std::vector<T>& room) {
  const auto& strides = array.strides;
  const T* data = static_cast<const T*>(array.data) + first * strides[0];
  if (strides[3] == 1) return {count, data, strides[0], {}};
  room.resize(static_cast<size_t>(count * numbers));
  for (int64_t e = 0; e < count; ++e)
    for (int64_t i = 0; i < numbers; ++i)
      room[static_cast<size_t>(e * numbers + i)] = data[e * strides[0] + i * strides[3]];
  return {count, room.data(), numbers, {}};
}

/// Steps of elements, from what truncation says of them; that goes into the figures, too.
std::vector<double> read_coding(const stage::Array& array, int64_t first, int64_t count,
                                int32_t components, Figures& figures) {
  std::vector<double> steps;
  for (int64_t e = first; e < first + count; ++e) {
    const auto at = [&](int32_t i) { return array.at<double>(e, i); };
    const double volume = at(numbers_per_component * components);
    figures.is_largest = at(numbers_per_component * components + 1) > 0;
    figures.volume += volume;
    for (int32_t c = 0; c < components; ++c) {
      const int32_t i = numbers_per_component * c;
      const double error = at(i + 1);
      steps.push_back(at(i));
      figures.untouched += at(i) == as_values ? 1 : 0;
      figures.largest = std::max(figures.largest, error);
      figures.bound = std::max(figures.bound, at(i + 2));
      figures.squares[static_cast<size_t>(c)] += volume * error * error;
    }
  }
  return steps;
}

template <class T>
int64_t count_kept(const PacketSource<T>& source, int64_t numbers) {
  int64_t out = 0;
  for (int64_t e = 0; e < source.elements; ++e) {
    const T* from = source.data + e * source.stride;
    out += numbers - std::count(from, from + numbers, T{0});
  }
  return out;
}

}  // namespace

template <class T>
void ElementFields::pack(const stage::Block& block, const One& one, StoredArray& to,
                         Figures& figures) const {
  const int64_t numbers = one.field.components * points_of(one.field);
  const PacketShape shape{one.field.order + 1, mesh_.axes, one.field.components};
  std::vector<T> room;
  for (int64_t first = 0; first < block.count(); first += elements_of_packet) {
    const int64_t count = std::min(elements_of_packet, block.count() - first);
    auto source = source_of<T>(block[one.array], first, count, numbers, room);
    std::vector<double> steps(static_cast<size_t>(count * one.field.components), as_values);
    if (one.coding >= 0)
      steps = read_coding(block[one.coding], first, count, one.field.components, figures);
    else figures.untouched += count * one.field.components;
    source.steps = steps;
    to.pieces.push_back(coder_(packed(shape, source), {count}));
    figures.bytes_in += count * numbers * static_cast<int64_t>(sizeof(T));
    figures.bytes_out += static_cast<int64_t>(to.pieces.back().bytes.size());
    figures.values += count * numbers;
    figures.kept += count_kept(source, numbers);
  }
}

StoredArray ElementFields::stored_numbers(const stage::Step& step) const {
  StoredArray out{"numbers", {}};
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    std::vector<int64_t> numbers;
    const auto array = block[numbers_];
    array.visit([&](const auto* data) {
      for (int64_t e = 0; e < block.count(); ++e)
        numbers.push_back(static_cast<int64_t>(data[e * array.strides[0]]));
    });
    Bytes bytes(numbers.size() * sizeof(int64_t));
    if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    out.pieces.push_back({std::move(bytes), {}});
  }
  return out;
}

}  // namespace pillion::stages::encode
