// SPDX-License-Identifier: BSD-3-Clause
// Diagnostics in a configuration. A run is content with the first, which is thrown; whoever wants
// to tell people of all of them hands this to the readers, which then go on with the next entry.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace pillion::base {

/// Thrown when so many mistakes have been found that more would not help.
struct TooManyMistakes {};

struct Diagnostics {
  static constexpr size_t most = 100;
  std::vector<Error> found;
  /// Meshes and fields that are there and could not be read: others may well speak of them.
  std::set<std::string> unread;
  /// "file:line" where a parameter has no value, so that nothing there means anything.
  std::set<std::string> meaningless;
  /// Names of parameters whose values were looked at.
  std::set<std::string> used_parameters;

  /// Keeps a mistake, unless it only follows from one that is known.
  void keep(const Error& mistake) {
    const std::string text = mistake.what();
    for (const auto& place : meaningless)
      if (text.starts_with(place + ": ")) return;
    for (const auto& name : unread)
      if (text.find("unknown field '" + name + "'") != std::string::npos ||
          text.find("unknown mesh '" + name + "'") != std::string::npos)
        return;
    add(mistake);
  }
  /// Keeps it in any case, once. Throws TooManyMistakes if there are too many, or if they are found
  /// again and again: each may have taken long to find.
  void add(const Error& mistake) {
    if (found.size() == most || ++added_ > 10 * most) throw TooManyMistakes();
    for (const auto& known : found)
      if (std::string_view(known.what()) == mistake.what()) return;
    found.push_back(mistake);
  }

 private:
  size_t added_ = 0;
};

/// Does a part of the reading; says whether all was well. What it throws is kept in `mistakes`, or
/// goes on to the caller if there is none.
template <class Deed>
bool attempt(Diagnostics* mistakes, Deed&& deed) {
  if (mistakes == nullptr) {
    deed();
    return true;
  }
  const size_t before = mistakes->found.size();
  try {
    deed();
  } catch (const Error& mistake) {
    mistakes->keep(mistake);
    return false;
  }
  return mistakes->found.size() == before;
}

}  // namespace pillion::base
