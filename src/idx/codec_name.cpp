// SPDX-License-Identifier: BSD-3-Clause
// Names of codecs.
#include "codec_name.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace pillion::idx {
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
