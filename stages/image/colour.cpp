// SPDX-License-Identifier: BSD-3-Clause
// Colour maps from the table that this plug-in shares with `pillion view`, and marks on a scale.
#include "colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>

// colour_maps.csv, as text.
asm(".section .rodata\n"
    "pillion_image_colour_maps:\n.incbin \"" PILLION_COLOUR_MAPS
    "\"\n.byte 0\n"
    ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const char pillion_image_colour_maps[];

namespace pillion::stages::image {

// Colours by name, and the maps between numbers and colours.

namespace {

constexpr std::array<double, 3> of_nothing = {128, 128, 128};

const std::map<std::string, Colour>& named() {
  static const std::map<std::string, Colour> colours = {
      {"black", 0x000000}, {"white", 0xffffff},  {"grey", 0x808080},   {"gray", 0x808080},
      {"red", 0xd62728},   {"orange", 0xff7f0e}, {"yellow", 0xe8c100}, {"green", 0x2ca02c},
      {"blue", 0x1f77b4},  {"purple", 0x9467bd}, {"brown", 0x8c564b},  {"pink", 0xe377c2}};
  return colours;
}

bool hexadecimal(const std::string& digits, Colour& colour) {
  if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return false;
  std::string six = digits;
  if (digits.size() == 3) six = {digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]};
  if (six.size() != 6) return false;
  colour = static_cast<Colour>(std::stoul(six, nullptr, 16));
  return true;
}

struct NamedMap {
  std::string name;
  std::vector<Colour> colours;
};

/// Columns of a table with comments, a line of names, and lines of colours.
std::vector<NamedMap> parse_maps(const char* text) {
  std::vector<NamedMap> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const bool names = out.empty();
    std::istringstream cells(line);
    size_t column = 0;
    for (std::string cell; std::getline(cells, cell, ','); ++column)
      if (names) out.push_back({cell, {}});
      else out[column].colours.push_back(static_cast<Colour>(std::stoul(cell, nullptr, 16)));
  }
  return out;
}

const std::vector<NamedMap>& all_maps() {
  static const std::vector<NamedMap> maps = parse_maps(pillion_image_colour_maps);
  return maps;
}

}  // namespace

bool parse_colour(const std::string& text, Colour& colour) {
  if (!text.empty() && text[0] == '#') return hexadecimal(text.substr(1), colour);
  const auto at = named().find(text);
  if (at == named().end()) return false;
  colour = at->second;
  return true;
}

ColourMap::ColourMap(std::vector<Colour> colours) {
  for (const Colour colour : colours) colours_.push_back(parts(colour));
  if (colours_.size() == 1) colours_.push_back(colours_[0]);
}

std::array<double, 3> ColourMap::at(double fraction) const {
  if (std::isnan(fraction)) return of_nothing;
  const auto last = static_cast<double>(colours_.size() - 1);
  const double place = std::clamp(fraction, 0.0, 1.0) * last;
  const auto i = std::min(static_cast<size_t>(place), colours_.size() - 2);
  const double t = place - static_cast<double>(i);
  std::array<double, 3> out{};
  for (size_t c = 0; c < 3; ++c)
    out[c] = colours_[i][c] + t * (colours_[i + 1][c] - colours_[i][c]);
  return out;
}

bool ColourMap::find(const std::string& name, std::vector<Colour>& colours) {
  for (const auto& map : all_maps())
    if (map.name == (name == "gray" ? "grey" : name)) {
      colours = map.colours;
      return true;
    }
  return false;
}

std::string ColourMap::names() {
  std::string out;
  for (const auto& map : all_maps()) out += (out.empty() ? "" : ", ") + map.name;
  return out;
}

// Round numbers: 1, 2 and 5 times powers of ten, and powers of ten on a logarithmic scale.

namespace {

/// The largest step of 1, 2 or 5 times a power of ten that is not above the wanted one, and up.
double nice_step(double wanted) {
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace

std::vector<double> ticks(const Range& range, int most) {
  std::vector<double> out;
  if (!(range.hi > range.lo)) return {range.lo};
  if (range.logarithmic) {
    const double decades = std::log10(range.hi) - std::log10(range.lo);
    const double every = std::max(1.0, std::ceil(decades / most));
    const double first = std::ceil(std::log10(range.lo) - 1e-9);
    for (double p = first; p <= std::log10(range.hi) + 1e-9; p += every)
      out.push_back(std::pow(10, p));
    if (out.size() >= 2) return out;
    return {range.lo, range.hi};
  }
  const double step = nice_step((range.hi - range.lo) / most);
  const double slack = 1e-9 * (range.hi - range.lo);
  const double first = std::ceil((range.lo - slack) / step);
  const double count = std::floor((range.hi + slack) / step) - first + 1;
  // Where the range is but rounding, or as wide as numbers go, there is no such step.
  const bool is_good = count <= 4.0 * most && std::abs(first) < 1e12;
  for (int i = 0; is_good && i < static_cast<int>(count); ++i) out.push_back((first + i) * step);
  if (out.size() >= 2) return out;
  return {range.lo, range.hi};
}

}  // namespace pillion::stages::image
