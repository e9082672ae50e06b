// SPDX-License-Identifier: BSD-3-Clause
// Colours by name, and the maps between numbers and colours.
#include "colour.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "colour_tables.hpp"

namespace pillion::image {

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

template <size_t n>
std::vector<Colour> listed(const std::array<uint32_t, n>& table) {
  return {table.begin(), table.end()};
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
  if (name == "viridis") colours = listed(viridis);
  else if (name == "inferno") colours = listed(inferno);
  else if (name == "cividis") colours = listed(cividis);
  else if (name == "coolwarm") colours = listed(coolwarm);
  else if (name == "grey" || name == "gray") colours = {0x000000, 0xffffff};
  else return false;
  return true;
}

std::string ColourMap::names() { return "viridis, inferno, cividis, coolwarm, grey"; }

}  // namespace pillion::image
