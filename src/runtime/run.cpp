// SPDX-License-Identifier: BSD-3-Clause
// Small deeds on what both sides hold.
#include "runtime/run.hpp"

namespace pillion::runtime {

std::vector<int> Run::ranks_of(Role role) const {
  std::vector<int> ranks;
  for (size_t r = 0; r < roles.size(); ++r)
    if (roles[r] == role) ranks.push_back(static_cast<int>(r));
  return ranks;
}

void Run::warn(const std::string& message) {
  if (side.rank() != 0) return;
  warnings.push_back(message);
  log.warn("{}", message);
}

void Run::remark(const std::string& message) {
  if (side.rank() != 0) return;
  remarks.push_back(message);
  log.info("{}", message);
}

void Run::disable(size_t analysis, const Error& failure) {
  disabled[analysis] = failure.what();
  const std::string message = fmt::format("analysis '{}' is disabled for the rest of the run: {}",
                                          configuration.analyses[analysis].name, failure.what());
  if (side.rank() != 0) return;
  warnings.push_back(message);
  log.failure("{}", message);
}

products::Origin Run::origin(size_t analysis) const {
  products::Origin origin;
  origin.analysis = configuration.analyses[analysis].name;
  origin.configuration = configuration.text;
  origin.parameters = configuration.parameters;
  origin.time_units = configuration.time_units;
  return origin;
}

}  // namespace pillion::runtime
