// SPDX-License-Identifier: BSD-3-Clause
// The text of an .idx file, version 6, and the names of the files that it tells of.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <pillion/idx/dataset.hpp>
#include <sstream>
#include <string_view>

#include "dataset_text.hpp"

namespace pillion::idx {
namespace {

struct Kind {
  Type type;
  const char* name;
  size_t size;
};
constexpr Kind kinds[] = {
    {Type::uint8, "uint8", 1},     {Type::int8, "int8", 1},     {Type::uint16, "uint16", 2},
    {Type::int16, "int16", 2},     {Type::uint32, "uint32", 4}, {Type::int32, "int32", 4},
    {Type::uint64, "uint64", 8},   {Type::int64, "int64", 8},   {Type::float32, "float32", 4},
    {Type::float64, "float64", 8},
};
const Kind& kind_of(Type type) { return kinds[static_cast<size_t>(type)]; }

}  // namespace

size_t size_of(Type type) { return kind_of(type).size; }
std::string name_of(Type type) { return kind_of(type).name; }

namespace {

/// Ranges of equal steps; each extends as long as the step is the same.
void put_times(std::ostringstream& out, const Times& times) {
  const auto& all = times.steps;
  out << "(time)\n" << times.folder;
  for (size_t from = 0, to = 0; from < all.size(); from = to + 1) {
    to = from;
    const int64_t step = from + 1 < all.size() ? all[from + 1] - all[from] : 1;
    while (to + 1 < all.size() && all[to + 1] - all[to] == step) ++to;
    out << " (" << all[from] << "," << all[to] << "," << step << ")";
  }
  out << "\n";
}

/// A real with a point, without which some readers of YAML take 1e-05 for a text.
std::string real(double value) {
  std::array<char, 32> digits{};
  std::string out(digits.data(),
                  std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  if (out.find('.') == std::string::npos) out.insert(std::min(out.find('e'), out.size()), ".0");
  return out;
}

// OpenVisus counts the axes in the bitmask, which has none for the last axes of one sample each,
// and reads nothing where the physical box has more. All axes are under a key that it does not
// know.
void put_physical_box(std::ostream& out, const Dataset& dataset) {
  const auto put = [&](const char* key, int axes) {
    out << "\n(" << key << ")\n";
    for (size_t a = 0; a < 2 * static_cast<size_t>(axes); ++a)
      out << (a > 0 ? " " : "") << (*dataset.physical_box)[a];
  };
  out.precision(17);
  int axes = dataset.axes;
  while (axes > 1 && dataset.mask.extent(axes - 1) == 1) --axes;
  put("physic_box", axes);
  if (axes < dataset.axes) put("physical_box_of_all_axes", dataset.axes);
}

void put_comment(std::ostringstream& out, const Times& times) {
  if (!times.are_known()) return;
  out << times_comment;
  for (size_t n = 0; n < times.values.size(); ++n)
    out << (n > 0 ? ", " : "") << real(times.values[n]);
  out << "]\n";
}

}  // namespace

void Times::add(int64_t step, double time) {
  forget_from(step);
  if (values.size() == steps.size()) values.push_back(time);
  steps.push_back(step);
}

void Times::forget_from(int64_t step) {
  const auto kept = std::lower_bound(steps.begin(), steps.end(), step) - steps.begin();
  steps.resize(static_cast<size_t>(kept));
  values.resize(std::min(values.size(), steps.size()));
}

std::string escaped_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    const bool has_meaning = code <= ' ' || code == 0x7f || std::strchr("%+()#", c) != nullptr;
    if (!has_meaning) {
      out += c;
      continue;
    }
    char text[4];
    std::snprintf(text, sizeof text, "%%%02X", code);
    out += text;
  }
  return out;
}

std::string unescaped_name(const std::string& word) {
  std::string out;
  for (size_t at = 0; at < word.size(); ++at) {
    unsigned code = 0;
    const char* digits = word.data() + at + 1;
    if (word[at] == '%' && at + 2 < word.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      out += static_cast<char>(code);
      at += 2;
    } else {
      out += word[at];
    }
  }
  return out;
}

std::string Dataset::text() const {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // a program may have given streams another
  put_comment(out, times);
  out << "(version)\n6\n(box)\n";
  for (size_t a = 0; a < static_cast<size_t>(axes); ++a)
    out << (a > 0 ? " " : "") << lo[a] << " " << hi[a] - 1;
  if (physical_box) put_physical_box(out, *this);
  out << "\n(fields)\n";
  for (size_t f = 0; f < fields.size(); ++f) {
    const auto& field = fields[f];
    out << (f > 0 ? "+ " : "") << escaped_name(field.name) << " " << idx::name_of(field.type);
    if (field.components > 1) out << "[" << field.components << "]";
    out << " default_layout(hzorder) default_compression(" << codec_name(field)
        << ") default_value(" << field.fill << ")\n";
  }
  out << "(bits)\n" << mask.text() << "\n(bitsperblock)\n" << bits_per_block;
  out << "\n(blocksperfile)\n" << blocks_per_file << "\n(filename_template)\n" << files << "\n";
  if (left_out > 0) out << "(levels_left_out)\n" << left_out << "\n";
  if (!times.folder.empty() && !times.steps.empty()) put_times(out, times);
  return out.str();
}

namespace {

/// The template's tokens %0Nx take the bits of a number, the last token the lowest; bits that are
/// left over repeat the first token, as folders in front of it.
std::string with_number(const std::string& pattern, int64_t number) {
  std::string out = pattern;
  size_t first = std::string::npos;
  int first_digits = 0;
  const auto hexadecimal = [&](int digits) {
    std::string text;
    for (int d = 0; d < digits; ++d, number >>= 4)
      text.insert(0, 1, "0123456789abcdef"[number & 15]);
    return text;
  };
  for (size_t at = out.rfind('%'); at != std::string::npos;
       at = at == 0 ? std::string::npos : out.rfind('%', at - 1)) {
    const auto end = out.find('x', at);
    if (end == std::string::npos) continue;
    const int digits = std::clamp(std::atoi(out.substr(at + 1, end - at - 1).c_str()), 1, 16);
    out.replace(at, end - at + 1, hexadecimal(digits));
    first = at;
    first_digits = digits;
  }
  while (number > 0 && first != std::string::npos)
    out.insert(first, hexadecimal(first_digits) + "/");
  return out;
}

/// The template's first %d, %Nd or %0Nd as the step; nothing else in it means anything.
std::string with_step(const std::string& pattern, int64_t step) {
  const auto at = pattern.find('%');
  const auto end = pattern.find('d', at);
  if (at == std::string::npos || end == std::string::npos) return pattern;
  const int width = std::clamp(std::atoi(pattern.substr(at + 1, end - at - 1).c_str()), 0, 20);
  std::string digits = std::to_string(step);
  const char pad = pattern[at + 1] == '0' ? '0' : ' ';
  if (digits.size() < static_cast<size_t>(width))
    digits.insert(0, static_cast<size_t>(width) - digits.size(), pad);
  return pattern.substr(0, at) + digits + pattern.substr(end + 1);
}

}  // namespace

std::string file_name(const Dataset& dataset, int64_t first_block, int64_t step) {
  const auto& pattern = dataset.files;
  const auto at = pattern.find('%');
  if (at == std::string::npos) return pattern;
  return pattern.substr(0, at) + with_step(dataset.times.folder, step) +
         with_number(pattern.substr(at), first_block);
}

namespace {

constexpr std::string_view precision = "precision=", accuracy = "accuracy=";

std::string plain(double value) {
  std::array<char, 400> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  return {digits.data(), end.ptr};
}

std::string mode(const ZfpLoss& loss) {
  if (loss.precision > 0) return std::string(precision) + std::to_string(loss.precision);
  if (loss.tolerance > 0) return std::string(accuracy) + plain(loss.tolerance);
  return "reversible";
}

template <class Number>
bool read_positive(std::string_view text, Number& out) {
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  return read.ec == std::errc() && read.ptr == end && out > 0;
}

bool read_mode(std::string_view text, ZfpLoss& loss) {
  if (text.starts_with(precision))
    return read_positive(text.substr(precision.size()), loss.precision);
  if (text.starts_with(accuracy))
    return read_positive(text.substr(accuracy.size()), loss.tolerance);
  return text == "reversible";
}

}  // namespace

std::string codec_name(const Field& field) {
  switch (field.codec) {
    case Codec::zip: return "zip";
    case Codec::lz4: return "lz4";
    case Codec::zfp: return "zfp-" + mode(field.zfp) + "-" + mode(field.zfp);
    default: return "raw";
  }
}

bool read_codec(const std::string& name, Field& field) {
  if (name == "zip") field.codec = Codec::zip;
  else if (name == "lz4") field.codec = Codec::lz4;
  else if (name.starts_with("zfp")) field.codec = Codec::zfp;
  else return name.empty() || name == "raw" || name == "none";
  if (field.codec != Codec::zfp || name == "zfp") return true;
  const auto second = name.find('-', 4);
  return name[3] == '-' && second != std::string::npos &&
         read_mode(std::string_view(name).substr(second + 1), field.zfp);
}

}  // namespace pillion::idx
