// SPDX-License-Identifier: BSD-3-Clause
// What LAMMPS computes when it is asked: fields on the atoms and scalars that the configuration
// declares under the names that LAMMPS's inputs give them (c_ID, f_ID, v_NAME, i_NAME, d_NAME).
// LAMMPS adds up energies and virials only at steps that were announced, so values that need them
// can be had at these steps alone.
#pragma once

#include <pillion/pillion.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace LAMMPS_NS {
class LAMMPS;
}

namespace pillion::lammps {

class SharedAtoms;

/// Where a value comes from.
struct Source {
  enum class Kind { Compute, Fix, Variable, Integers, Reals };
  Kind kind = Kind::Compute;
  std::string id;  ///< of the compute, fix, variable or custom property of atoms
};

/// Reads a name such as "c_stress"; nothing if it is not of this form.
std::optional<Source> source_of(std::string_view name);

class ComputedValues {
 public:
  /// Reads the session's catalogue. Throws std::runtime_error if a field that is used, or a scalar,
  /// names something that LAMMPS does not have, or that has other components. A field without
  /// a use yet is checked when an attached job uses it.
  void find(const pillion_session* session, LAMMPS_NS::LAMMPS& lammps, int nevery);
  /// Whether values may be asked for at the next due step.
  [[nodiscard]] bool any() const { return !fields_.empty() || !scalars_.empty(); }
  /// Has LAMMPS add up energies and virials at this step, which has not begun.
  void announce(LAMMPS_NS::LAMMPS& lammps, int64_t step);
  /// Computes and shares the fields that are used, and sets the scalars. Returns why some could not
  /// be had at this step, or "". [collective over LAMMPS's ranks] What could not is not shared.
  [[nodiscard]] std::string share(pillion_session* session, LAMMPS_NS::LAMMPS& lammps,
                                  SharedAtoms& atoms, int group);

 private:
  struct Field {
    int32_t number = 0;  ///< in the catalogue
    std::string name;
    Source source;
    int32_t components = 1;
    bool is_checked = false;     ///< against what LAMMPS has
    std::vector<double> values;  ///< of a variable
  };
  struct Scalar {
    std::string name;
    Source source;
  };
  void check_field(LAMMPS_NS::LAMMPS& lammps, Field& field, pillion_type type) const;
  void share_field(pillion_session* session, LAMMPS_NS::LAMMPS& lammps, SharedAtoms& atoms,
                   Field& field, int group);

  std::vector<Field> fields_;
  std::vector<Scalar> scalars_;
  int nevery_ = 1;
  std::set<int64_t> announced_;  ///< steps from the present one on
};

}  // namespace pillion::lammps
