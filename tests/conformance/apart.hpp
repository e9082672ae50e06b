// SPDX-License-Identifier: BSD-3-Clause
// With --apart 1 the components of a field lie in arrays of their own, which are not evenly apart,
// and within which values have gaps, as in arrays of structures. With --apart 2 they are evenly
// apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "driver.hpp"

namespace conformance {

/// How many components the catalogue says that a field has.
inline int32_t components_of(const Player& player, const std::string& name) {
  int32_t count = 0;
  check(pillion_count_fields(player.session, &count));
  for (int32_t f = 0; f < count; ++f) {
    pillion_field field{};
    check(pillion_get_field(player.session, f, &field));
    if (name == field.name) return field.components;
  }
  return 1;
}

/// Where the arrays of the components are in one piece of memory.
class Apart {
 public:
  Apart(int64_t how, int32_t components, size_t bytes_of_array, size_t element)
      : components_(components),
        of_array_(bytes_of_array),
        gap_(how == 1 ? 5 * element : 0),
        element_(element) {}

  [[nodiscard]] size_t size() const { return first(components_); }
  [[nodiscard]] size_t first(int32_t c) const {
    const auto n = static_cast<size_t>(c);
    return n * of_array_ + n * n * gap_ + n * element_;
  }
  [[nodiscard]] std::vector<const void*> places(const char* memory, size_t behind = 0) const {
    std::vector<const void*> out;
    for (int32_t c = 0; c < components_; ++c) out.push_back(memory + first(c) + behind);
    return out;
  }

 private:
  int32_t components_;
  size_t of_array_, gap_, element_;
};

inline pillion_arrays arrays_of(const std::vector<const void*>& places, pillion_type type,
                                const std::vector<int64_t>& strides) {
  return {sizeof(pillion_arrays), places.data(), type, static_cast<int32_t>(places.size()),
          strides.data()};
}

}  // namespace conformance
