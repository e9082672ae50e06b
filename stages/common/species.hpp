// SPDX-License-Identifier: BSD-3-Clause
// Species: named sets of particle types. Species may share types, so a type belongs to a set of
// species, kept as one bit for each. A selection without species has the one species `all`, to
// which every particle belongs whatever its type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stages {

struct Species {
  std::string name;
  std::vector<int64_t> types;
};

class Selection {
 public:
  static constexpr size_t limit = 64;

  /// Everything, as one species called `all`.
  Selection() : species_{{"all", {}}}, everything_(true) {}

  /// At most `limit` species.
  explicit Selection(std::vector<Species> species) : species_(std::move(species)) {
    for (size_t s = 0; s < species_.size(); ++s)
      for (const int64_t type : species_[s].types) add(type, uint64_t{1} << s);
  }

  [[nodiscard]] bool everything() const { return everything_; }
  [[nodiscard]] const std::vector<Species>& species() const { return species_; }
  [[nodiscard]] size_t size() const { return species_.size(); }
  [[nodiscard]] const std::string& name(size_t s) const { return species_[s].name; }

  /// Every type that some species has, ascending.
  [[nodiscard]] std::vector<int64_t> types() const {
    std::vector<int64_t> out;
    for (const auto& [type, bits] : members_) out.push_back(type);
    return out;
  }
  /// Bit s is set if the type belongs to species s.
  [[nodiscard]] uint64_t membership(int64_t type) const {
    if (everything_) return 1;
    const auto at = place(type);
    return at != members_.end() && at->first == type ? at->second : 0;
  }
  /// Index of a species, or -1.
  [[nodiscard]] int find(const std::string& name) const {
    for (size_t s = 0; s < species_.size(); ++s)
      if (species_[s].name == name) return static_cast<int>(s);
    return -1;
  }
  /// Text that differs if the selection does, to compare with a saved one.
  [[nodiscard]] std::string signature() const {
    std::string out;
    for (const auto& s : species_) {
      out += s.name + ":";
      for (const auto type : s.types) out.append(" ").append(std::to_string(type));
      out += ";";
    }
    return out;
  }

 private:
  using Members = std::vector<std::pair<int64_t, uint64_t>>;

  [[nodiscard]] Members::const_iterator place(int64_t type) const {
    return std::lower_bound(members_.begin(), members_.end(), type,
                            [](const auto& entry, int64_t t) { return entry.first < t; });
  }
  void add(int64_t type, uint64_t bit) {
    const auto at = members_.begin() + (place(type) - members_.cbegin());
    if (at != members_.end() && at->first == type) at->second |= bit;
    else members_.insert(at, {type, bit});
  }

  std::vector<Species> species_;
  Members members_;
  bool everything_ = false;
};

}  // namespace pillion::stages
