// SPDX-License-Identifier: BSD-3-Clause
// Packing, in the order of the sections.
#include "packet.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "../common/element_coding.hpp"

namespace pillion::stages::encode {
namespace {

using Bytes = std::vector<std::byte>;

/// Small numbers of either sign become small ones without.
uint64_t zigzag(int64_t number) {
  return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
}

/// Bytes that a number needs: 0, 1, 2, 4 or 8.
int width_of(uint64_t number) {
  if (number == 0) return 0;
  return static_cast<int>(std::bit_ceil((std::bit_width(number) + 7U) / 8U));
}

template <class U>
void append(Bytes& to, const U& value) {
  static_assert(std::endian::native == std::endian::little, "files are little-endian");
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

/// The first byte of all numbers, then the second, …
template <class U>
void append_planes(Bytes& to, std::span<const U> numbers, int width) {
  for (int b = 0; b < width; ++b) {
    const size_t first = to.size();
    to.resize(first + numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      to[first + i] = static_cast<std::byte>(numbers[i] >> (8 * b));
  }
}

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
class Packer {
 public:
  Packer(const PacketShape& shape, const PacketSource<T>& source)
      : shape_(shape),
        source_(source),
        order_(by_degree(shape.points, shape.axes)),
        size_(order_.size()) {}

  Bytes operator()() {
    put_heads();
    put_rounded();
    put_coefficients();
    put_values();
    return std::move(out_);
  }

 private:
  [[nodiscard]] Kind kind(size_t one) const {
    const double step = source_.steps[one];
    if (step > 0) return Kind::rounded;
    return step == not_rounded ? Kind::coefficients : Kind::values;
  }
  [[nodiscard]] const T* at(size_t one) const {
    const auto components = static_cast<size_t>(shape_.components);
    return source_.data + static_cast<int64_t>(one / components) * source_.stride +
           one % components * size_;
  }
  template <class F>
  void for_each(Kind kind, F&& f) const {
    for (size_t one = 0; one < source_.steps.size(); ++one)
      if (this->kind(one) == kind) f(one);
  }

  void put_heads() {
    for (size_t one = 0; one < source_.steps.size(); ++one)
      out_.push_back(static_cast<std::byte>(kind(one)));
    for (const double step : source_.steps)
      append(out_, static_cast<int16_t>(step > 0 ? index_of(step) : 0));
  }

  /// Columns of multiples, a column for each coefficient.
  void put_rounded() {
    std::vector<size_t> which;
    for_each(Kind::rounded, [&](size_t one) { which.push_back(one); });
    std::vector<uint64_t> columns(which.size() * size_);
    for (size_t row = 0; row < which.size(); ++row) {
      const double per_step = 1 / source_.steps[which[row]];
      const T* from = at(which[row]);
      for (size_t i = 0; i < size_; ++i)
        if (const T value = from[order_[i]]; value != 0)
          columns[i * which.size() + row] =
              zigzag(std::llrint(static_cast<double>(value) * per_step));
    }
    const auto column = [&](size_t i) {
      return std::span<const uint64_t>(columns).subspan(i * which.size(), which.size());
    };
    std::vector<int> widths;
    for (size_t i = 0; i < size_; ++i) {
      uint64_t most = 0;
      for (const auto number : column(i)) most = std::max(most, number);
      widths.push_back(width_of(most));
      out_.push_back(static_cast<std::byte>(widths.back()));
    }
    for (size_t i = 0; i < size_; ++i) append_planes(out_, column(i), widths[i]);
  }

  /// Which are there, a bit for each, and those.
  void put_coefficients() {
    std::vector<WordOf<T>> there;
    for_each(Kind::coefficients, [&](size_t one) {
      const T* from = at(one);
      for (size_t i = 0; i < size_; i += 8) {
        unsigned bits = 0;
        for (size_t b = 0; b < std::min<size_t>(8, size_ - i); ++b) {
          const T value = from[order_[i + b]];
          if (value == 0) continue;
          bits |= 1U << b;
          there.push_back(std::bit_cast<WordOf<T>>(value));
        }
        out_.push_back(static_cast<std::byte>(bits));
      }
    });
    append_planes(out_, std::span<const WordOf<T>>(there), sizeof(T));
  }

  void put_values() {
    std::vector<WordOf<T>> words;
    for_each(Kind::values, [&](size_t one) {
      for (size_t p = 0; p < size_; ++p) words.push_back(std::bit_cast<WordOf<T>>(at(one)[p]));
    });
    append_planes(out_, std::span<const WordOf<T>>(words), sizeof(T));
  }

  const PacketShape& shape_;
  const PacketSource<T>& source_;
  std::vector<int32_t> order_;
  size_t size_;
  Bytes out_;
};

}  // namespace

std::vector<int32_t> by_degree(int points, int axes) {
  const auto degree = [&](int32_t p) {
    return p % points + p / points % points + p / (points * points);
  };
  std::vector<int32_t> out(static_cast<size_t>(points * points * (axes == 2 ? 1 : points)));
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(),
                   [&](int32_t a, int32_t b) { return degree(a) < degree(b); });
  return out;
}

template <class T>
Bytes packed(const PacketShape& shape, const PacketSource<T>& source) {
  return Packer<T>(shape, source)();
}

template Bytes packed(const PacketShape&, const PacketSource<float>&);
template Bytes packed(const PacketShape&, const PacketSource<double>&);

}  // namespace pillion::stages::encode
