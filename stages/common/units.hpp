// SPDX-License-Identifier: BSD-3-Clause
// Units of results, made from the units of what went in: Å/fs squared is Å^2/fs^2, and times fs it
// is Å^2/fs. Units are texts such as g/cm^3; one that cannot be understood is kept in parentheses.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stages {

class Units {
 public:
  Units() = default;
  explicit Units(const std::string& text) {
    if (!parse(text)) factors_ = {{"(" + text + ")", 1}};
  }

  [[nodiscard]] Units power(int exponent) const {
    Units out = *this;
    for (auto& factor : out.factors_) factor.second *= exponent;
    return out;
  }
  [[nodiscard]] Units operator*(const Units& other) const {
    Units out = *this;
    for (const auto& [symbol, exponent] : other.factors_) out.multiply(symbol, exponent);
    return out;
  }
  [[nodiscard]] Units operator/(const Units& other) const { return *this * other.power(-1); }

  /// Symbols and their exponents; what cannot be understood is one symbol in parentheses.
  [[nodiscard]] const std::vector<std::pair<std::string, int>>& factors() const { return factors_; }
  /// Factors with positive exponents, then each of the others after a slash.
  [[nodiscard]] std::string text() const {
    std::string above, below;
    for (const auto& [symbol, exponent] : factors_) {
      if (exponent > 0) above += (above.empty() ? "" : "*") + raised(symbol, exponent);
      if (exponent < 0) below += "/" + raised(symbol, -exponent);
    }
    return above.empty() && !below.empty() ? "1" + below : above + below;
  }

 private:
  static std::string raised(const std::string& symbol, int exponent) {
    return exponent == 1 ? symbol : symbol + "^" + std::to_string(exponent);
  }
  void multiply(const std::string& symbol, int exponent) {
    for (auto& factor : factors_)
      if (factor.first == symbol) {
        factor.second += exponent;
        return;
      }
    factors_.emplace_back(symbol, exponent);
  }

  /// SYMBOL[^INTEGER], joined by `*`, `/` or a blank; true if the whole text is of this form.
  bool parse(const std::string& text) {
    int sign = 1;
    size_t at = 0;
    while (at < text.size()) {
      const size_t end = std::min(text.find_first_of("*/ ", at), text.size());
      if (!factor(text.substr(at, end - at), sign)) return false;
      if (end + 1 == text.size()) return false;
      if (end < text.size()) sign = text[end] == '/' ? -1 : 1;
      at = end + 1;
    }
    return true;
  }
  bool factor(const std::string& word, int sign) {
    if (word == "1") return true;
    const size_t hat = word.find('^');
    const std::string symbol = word.substr(0, hat);
    if (symbol.empty() || symbol.find_first_of("()0123456789+.") != std::string::npos) return false;
    int exponent = 1;
    if (hat != std::string::npos) {
      const std::string digits = word.substr(hat + 1);
      const size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
      if (digits.size() == first || digits.size() > first + 2 ||
          digits.find_first_not_of("0123456789", first) != std::string::npos)
        return false;
      exponent = std::stoi(digits);
    }
    multiply(symbol, sign * exponent);
    return true;
  }

  std::vector<std::pair<std::string, int>> factors_;
};

}  // namespace pillion::stages
