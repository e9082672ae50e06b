// SPDX-License-Identifier: BSD-3-Clause
#include "layout/request.hpp"

#include <algorithm>

namespace pillion::layout {

std::vector<std::string> Request::needed() const {
  std::vector<std::string> names = fields;
  for (const auto* extra : {&key, &position, &select})
    if (!extra->empty() && std::find(names.begin(), names.end(), *extra) == names.end())
      names.push_back(*extra);
  return names;
}

}  // namespace pillion::layout
