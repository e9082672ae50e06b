// SPDX-License-Identifier: BSD-3-Clause
// Which file holds which field at which step: a pure function of the files' names and heads.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replay/about.hpp"
#include "replay/stored.hpp"

namespace replay {

/// What files call fields: their own names, or others in their place.
class Names {
 public:
  /// `given` are the others, by field. Throws pillion::Error if one is for no field.
  Names(const std::set<std::string>& fields, const std::map<std::string, std::string>& given);

  /// The field that a file calls so; "" if it is none.
  [[nodiscard]] std::string field(const std::string& name) const;
  /// The field of a dataset, by its whole path or the last part of it; "" if it is none.
  [[nodiscard]] std::string field_of_dataset(const std::string& path) const;
  /// What files call a field.
  [[nodiscard]] std::string name(const std::string& field) const;

 private:
  std::map<std::string, std::string> field_;  ///< by name
};

struct FieldAtStep {
  std::string field;
  int64_t step = 0;
};

/// What a .npy file holds by its name without the extension: "FIELD", or "FIELD.STEP" with '_' or
/// '-' for the dot. Nothing if that is no field.
std::optional<FieldAtStep> field_at_step(const std::string& stem, const Names& names);

/// The last number in a name; nothing if there is none.
std::optional<int64_t> last_number(const std::string& stem);

/// A field at a step that was found in a file.
struct Found {
  std::string field;
  int64_t step = 0;
  std::optional<double> time;
  Stored stored;
};

/// All that is offered at one step.
struct Frame {
  int64_t step = 0;
  double time = 0;
  std::map<std::string, Stored> fields;
  Domains domains;
};

/// The frames in the order of their steps. Throws pillion::Error if one of the fields is missing at
/// a step, is there twice, or if a step has no time while others have. `about` says what files do
/// not; `time_per_step` goes before what they say.
std::vector<Frame> make_frames(const std::vector<Found>& found, const std::set<std::string>& fields,
                               const Names& names, const About& about,
                               std::optional<double> time_per_step);

}  // namespace replay
