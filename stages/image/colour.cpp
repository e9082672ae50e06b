// SPDX-License-Identifier: BSD-3-Clause
// Colour maps as tables, and marks on a scale.
#include "colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>

namespace pillion::stages::image {

// Colours of the maps at equal distances, as 0xRRGGBB: viridis and inferno by Nathaniel Smith and
// Stefan van der Walt (2015, dedicated to the public), cividis by Nunez, Anderton and Renslow
// (2018), and coolwarm by Kenneth Moreland (2009).

constexpr std::array<uint32_t, 86> viridis = {
    0x440154, 0x450559, 0x460a5d, 0x470e61, 0x471365, 0x481769, 0x481b6d, 0x481f70, 0x482374,
    0x482677, 0x472a7a, 0x472e7c, 0x46327e, 0x453581, 0x443983, 0x433d84, 0x424086, 0x414487,
    0x3f4788, 0x3e4a89, 0x3d4e8a, 0x3b518b, 0x3a548c, 0x38588c, 0x375b8d, 0x355e8d, 0x34618d,
    0x32648e, 0x31678e, 0x306a8e, 0x2e6d8e, 0x2d708e, 0x2c728e, 0x2b758e, 0x2a788e, 0x297b8e,
    0x277e8e, 0x26818e, 0x25838e, 0x24868e, 0x23898e, 0x228c8d, 0x218f8d, 0x20928c, 0x1f948c,
    0x1f978b, 0x1f9a8a, 0x1e9d89, 0x1fa088, 0x1fa287, 0x21a585, 0x22a884, 0x25ab82, 0x27ad81,
    0x2ab07f, 0x2eb37c, 0x32b67a, 0x37b878, 0x3bbb75, 0x40bd72, 0x46c06f, 0x4cc26c, 0x52c569,
    0x58c765, 0x5ec962, 0x65cb5e, 0x6ccd5a, 0x73d056, 0x7ad151, 0x81d34d, 0x89d548, 0x90d743,
    0x98d83e, 0xa0da39, 0xa8db34, 0xb0dd2f, 0xb8de29, 0xc0df25, 0xc8e020, 0xd0e11c, 0xd8e219,
    0xdfe318, 0xe7e419, 0xefe51c, 0xf6e620, 0xfde725,
};
constexpr std::array<uint32_t, 86> inferno = {
    0x000004, 0x010108, 0x02020e, 0x040314, 0x07051b, 0x0a0722, 0x0d0829, 0x110a30, 0x150b37,
    0x190c3e, 0x1e0c45, 0x230c4c, 0x280b53, 0x2d0b59, 0x320a5e, 0x380962, 0x3d0965, 0x420a68,
    0x470b6a, 0x4c0c6b, 0x510e6c, 0x550f6d, 0x5a116e, 0x5f136e, 0x64156e, 0x69166e, 0x6d186e,
    0x721a6e, 0x771c6d, 0x7c1d6d, 0x801f6c, 0x85216b, 0x8a226a, 0x8f2469, 0x932667, 0x982766,
    0x9d2964, 0xa22b62, 0xa62d60, 0xab2f5e, 0xb0315b, 0xb43359, 0xb93556, 0xbd3853, 0xc13a50,
    0xc63d4d, 0xca404a, 0xce4347, 0xd24644, 0xd54a41, 0xd94d3d, 0xdd513a, 0xe05536, 0xe35933,
    0xe65d2f, 0xe9612b, 0xeb6628, 0xee6a24, 0xf06f20, 0xf2741c, 0xf47918, 0xf67e14, 0xf78410,
    0xf8890c, 0xf98e09, 0xfa9407, 0xfb9906, 0xfc9f07, 0xfca50a, 0xfcaa0f, 0xfcb014, 0xfbb61a,
    0xfbbc21, 0xfac228, 0xf9c72f, 0xf8cd37, 0xf7d340, 0xf5d949, 0xf4df53, 0xf3e55d, 0xf2ea69,
    0xf1ef75, 0xf2f482, 0xf4f88e, 0xf8fb9a, 0xfcffa4,
};
constexpr std::array<uint32_t, 86> cividis = {
    0x00224e, 0x002553, 0x002758, 0x00295d, 0x002b62, 0x002d68, 0x002f6d, 0x003170, 0x053371,
    0x0f3570, 0x163770, 0x1c396f, 0x213b6e, 0x263d6e, 0x2a3f6d, 0x2e416d, 0x32436d, 0x35456c,
    0x39486c, 0x3c4a6c, 0x3f4c6c, 0x424e6c, 0x45506c, 0x48526c, 0x4b546c, 0x4e566c, 0x51586d,
    0x545a6d, 0x565c6d, 0x595e6e, 0x5c616e, 0x5e636f, 0x61656f, 0x646770, 0x666970, 0x696b71,
    0x6c6d72, 0x6e6f73, 0x717274, 0x737475, 0x767676, 0x787877, 0x7b7a78, 0x7e7c78, 0x807f78,
    0x838179, 0x868379, 0x898578, 0x8c8878, 0x8f8a78, 0x928c78, 0x948e77, 0x979177, 0x9a9376,
    0x9d9576, 0xa09875, 0xa39a74, 0xa69c74, 0xa99f73, 0xaca172, 0xafa471, 0xb3a670, 0xb6a96f,
    0xb9ab6d, 0xbcae6c, 0xbfb06b, 0xc2b369, 0xc5b568, 0xc8b866, 0xccba64, 0xcfbd62, 0xd2c060,
    0xd5c25e, 0xd9c55c, 0xdcc859, 0xdfca57, 0xe2cd54, 0xe6d051, 0xe9d34e, 0xedd54a, 0xf0d846,
    0xf3db42, 0xf7de3e, 0xfbe138, 0xfee434, 0xfee838,
};
constexpr std::array<uint32_t, 86> coolwarm = {
    0x3b4cc0, 0x3e51c5, 0x4257c9, 0x455cce, 0x4961d2, 0x4c66d6, 0x506bda, 0x5470de, 0x5875e1,
    0x5b7ae5, 0x5f7fe8, 0x6384eb, 0x6788ee, 0x6b8df0, 0x6f92f3, 0x7396f5, 0x779af7, 0x7b9ff9,
    0x80a3fa, 0x84a7fc, 0x88abfd, 0x8caffe, 0x90b2fe, 0x94b6ff, 0x98b9ff, 0x9dbdff, 0xa1c0ff,
    0xa5c3fe, 0xa9c6fd, 0xadc9fd, 0xb1cbfc, 0xb5cdfa, 0xb9d0f9, 0xbcd2f7, 0xc0d4f5, 0xc4d5f3,
    0xc7d7f0, 0xcbd8ee, 0xcedaeb, 0xd2dbe8, 0xd5dbe5, 0xd8dce2, 0xdbdcde, 0xdedcdb, 0xe1dad6,
    0xe4d9d2, 0xe7d7ce, 0xead5c9, 0xecd3c5, 0xeed0c0, 0xf0cdbb, 0xf2cbb7, 0xf3c8b2, 0xf4c5ad,
    0xf5c1a9, 0xf6bea4, 0xf7ba9f, 0xf7b79b, 0xf7b396, 0xf7af91, 0xf7aa8c, 0xf7a688, 0xf6a283,
    0xf59d7e, 0xf4987a, 0xf39475, 0xf18f71, 0xf08a6c, 0xee8468, 0xec7f63, 0xe97a5f, 0xe7745b,
    0xe46e56, 0xe26952, 0xdf634e, 0xdc5d4a, 0xd85646, 0xd55042, 0xd1493f, 0xcd423b, 0xca3b37,
    0xc53334, 0xc12b30, 0xbd1f2d, 0xb8122a, 0xb40426,
};

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
