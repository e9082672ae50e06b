// SPDX-License-Identifier: BSD-3-Clause
#include "model/expression.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::model;

namespace {

Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {grid: {kind: uniform, cells: [4]}, refined: {kind: uniform, cells: [4],\n"
      "  levels: {count: 2}}}\n"
      "fields:\n  density: {mesh: grid, type: float64}\n"
      "  fine: {mesh: refined, type: float64}\n"
      "  velocity: {mesh: grid, type: float32, components: 3}\n"
      "  mole fraction: {mesh: grid, type: float64}\n  it's: {mesh: grid, type: float64}\n"
      "  ρ: {mesh: grid, type: float64}\n  Δ_2: {mesh: grid, type: float64}\n"
      "scalars: [a, dt]\n",
      "c", {});
  Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  out.read_scalars(root.find("scalars"));
  return out;
}

Expression expression(const std::string& text) {
  base::Value place;
  place.kind = base::Value::Kind::Scalar;
  place.text = text;
  return {place, catalogue()};
}

bool holds(const std::string& text, std::vector<Moments> moments = {}, int64_t step = 0,
           double time = 0) {
  return expression(text).holds({moments, step, time, {}});
}

std::string error_of(const std::string& text) {
  try {
    expression(text);
  } catch (const Error& e) {
    const std::string what = e.what();
    return what.substr(what.find("': ") + 3);
  }
  return "no error";
}

}  // namespace

TEST_CASE("precedence and associativity are those of arithmetic") {
  CHECK(holds("1 + 2 * 3 == 7"));
  CHECK(holds("(1 + 2) * 3 == 9"));
  CHECK(holds("8 / 2 / 2 == 2"));
  CHECK(holds("10 - 4 - 3 == 3"));
  CHECK(holds("-2 * -3 == 6"));
  CHECK(holds("1 > 2 or 2 > 1 and 3 > 2"));
  CHECK_FALSE(holds("(1 > 2 or 2 > 1) and 3 < 2"));
  CHECK(holds("not 1 > 2"));
  CHECK(holds("1e3 >= 1000 && 1 != 2 || 0"));
}

TEST_CASE("step, time and statistics") {
  const Moments moments{.count = 4,
                        .sum = 5,
                        .weight = 2,
                        .weighted_sum = 4,
                        .weighted_squares = 32,
                        .minimum = -1,
                        .maximum = 7};
  CHECK(holds("step >= 10 and time < 0.5", {}, 10, 0.4));
  CHECK(holds("max(density) == 7 and min(density) == -1", {moments}));
  CHECK(holds("mean(density) == 2 and rms(density) == 4 and sum(density) == 5", {moments}));
  CHECK(holds("count(density) == 4", {moments}));
  CHECK(expression("max(density) > min(density)").quantities().size() == 1);
  const auto mixed = expression("max(velocity[2]) > 1 or max(norm(velocity)) > 2");
  REQUIRE(mixed.quantities().size() == 2);
  CHECK(mixed.quantities()[0] == Quantity{"velocity", 2});
  CHECK(mixed.quantities()[1] == Quantity{"velocity", Quantity::norm});
}

TEST_CASE("a comparison with what is not a number is false") {
  const Moments none;
  CHECK_FALSE(holds("mean(density) > 0", {none}));
  CHECK_FALSE(holds("min(density) > 0 or min(density) <= 0", {none}));
  CHECK_FALSE(holds("max(density) > 0 or max(density) <= 0", {none}));
  CHECK_FALSE(holds("0 / 0"));
}

TEST_CASE("what cannot be read is refused with a reason") {
  CHECK(error_of("max(fine) > 1") ==
        "field 'fine' is on mesh 'refined' with 2 levels, where cells that finer boxes cover would "
        "count too; use a scalar that the program sets");
  CHECK(error_of("max(densty) > 1") == "unknown field 'densty'; did you mean 'density'?");
  CHECK(error_of("mx(density)") == "'mx' is not known; did you mean 'max'?");
  CHECK(error_of("max(velocity) > 1") ==
        "field 'velocity' has 3 components; say velocity[0] or norm(velocity)");
  CHECK(error_of("max(velocity[3]) > 1") == "field 'velocity' has components 0 to 2");
  CHECK(error_of("1 +") == "it ends too early");
  CHECK(error_of("(1 > 2") == "expected ')' at the end");
  CHECK(error_of("1 > 2 3") == "'3' is left over");
  CHECK(error_of("step = 3") == "'= 3' is left over; '==' compares");
  CHECK(error_of("1 < step < 3") == "'< 3' is left over; join two comparisons with 'and'");
  CHECK(error_of("step ≥ 3") == "'≥ 3' is left over; write '>='");
  CHECK(error_of("max() > 1").starts_with("expected a field before ') > 1'"));
  CHECK(error_of("max('density) > 1") == "the quote ' has no end");
}

TEST_CASE("names of fields may have quotes, or letters of any script") {
  const Moments moments{.count = 4, .sum = 8, .minimum = -1, .maximum = 7};
  CHECK(holds("max('mole fraction') == 7", {moments}));
  CHECK(holds("max(\"it's\") == 7 and max(norm('mole fraction')) == 7", {moments, moments}));
  CHECK(holds("max(ρ) == 7 and max(Δ_2) == 7", {moments, moments}));
}

TEST_CASE("what compares nothing is no condition") {
  for (const char* text : {"max(density) > 1", "a", "not dt", "a and step > 3", "(1 > 2) or a"})
    CHECK_MESSAGE(expression(text).compares(), text);
  for (const char* text : {"max(density)", "5", "1 / 0", "step", "-a", "step > 3 and 1", "not 1"})
    CHECK_MESSAGE(!expression(text).compares(), text);
}

TEST_CASE("a condition that is too deep or too long is refused with the position") {
  const auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string deep = "it is nested more than 100 deep";
  CHECK(error_of(repeated("(", 100'000)) == "at character 101 " + deep);
  CHECK(error_of(repeated("-", 100'000)) == "at character 101 " + deep);
  CHECK(error_of(repeated("not ", 100'000) + "1") == "at character 403 " + deep);
  CHECK(error_of(repeated("not(-(", 100'000)) == "at character 153 " + deep);
  CHECK(error_of("1" + repeated(" + 1", 100'000)).ends_with("it has more than 1000 operations"));
  CHECK(error_of("1" + repeated(" or 1", 100'000)).ends_with("it has more than 1000 operations"));
  CHECK(holds(repeated("not ", 100) + "1"));
  CHECK(holds(repeated("(", 100) + "1" + repeated(")", 100)));
  CHECK(holds("0" + repeated(" + 1", 999) + " == 999"));
}

TEST_CASE("scalars by name") {
  const auto condition = expression("a * 2 > 1 and not dt >= 0.1");
  CHECK(condition.scalars() == std::set<size_t>{0, 1});
  const auto holds_with = [&](double a, double dt) {
    const std::vector<double> scalars{a, dt};
    return condition.holds({{}, 0, 0, scalars});
  };
  CHECK(holds_with(0.75, 0.05));
  CHECK_FALSE(holds_with(0.25, 0.05));
  CHECK_FALSE(holds_with(0.75, 0.5));
  CHECK_FALSE(holds_with(std::numeric_limits<double>::quiet_NaN(), 0.05));
  CHECK(error_of("dtt > 1") == "'dtt' is not known; did you mean 'dt'?");
}
