// SPDX-License-Identifier: BSD-3-Clause
// The atoms of one rank as Pillion sees them. What LAMMPS keeps as Pillion wants it (positions,
// velocities, …) is shared where it lies; what it does not (64-bit ids, unpacked image flags, a
// mass for every atom) is gathered into buffers. For a group other than `all`, all is gathered.
#pragma once

#include <pillion/pillion.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace LAMMPS_NS {
class Atom;
}

namespace pillion::lammps {

class SharedAtoms {
 public:
  /// Shares this rank's atoms that are in the group. Valid until LAMMPS moves its arrays.
  void share(pillion_session* session, const LAMMPS_NS::Atom& atom, int group_bit);
  /// Shares further values, `width` for each of this rank's atoms. Atoms outside the group are left
  /// out.
  template <class T>
  void share_more(pillion_session* session, const char* field, const T* values, int width);
  /// Shares the bonds that this rank has with atoms of the group, each once.
  void share_bonds(pillion_session* session, const LAMMPS_NS::Atom& atom, bool each_is_stored_once);
  /// Takes a field back, if it is shared.
  void unshare(pillion_session* session, const char* field);
  /// Takes everything back.
  void unshare(pillion_session* session);

 private:
  void select(const LAMMPS_NS::Atom& atom, int group_bit);
  void share_identity(pillion_session* session, const LAMMPS_NS::Atom& atom);
  void share_state(pillion_session* session, const LAMMPS_NS::Atom& atom);
  template <class T>
  void put(pillion_session* session, const char* field, const T* values);
  template <class T>
  void put(pillion_session* session, const char* field, const T* values, int64_t count);
  template <class T>
  const T* of_group(std::vector<T>& buffer, const T* values, int width) const;
  template <class T, class F>
  const T* gather(std::vector<T>& buffer, int width, F&& write) const;

  bool all_ = true;               ///< every atom of this rank is in the group
  int64_t count_ = 0;             ///< atoms shared
  std::vector<int32_t> members_;  ///< local indices of the group's atoms, unless all are
  std::vector<std::string> shared_;

  std::vector<int64_t> id_, molecule_;
  std::vector<int32_t> type_, image_;
  std::vector<double> position_, velocity_, force_, mass_, charge_;
  std::map<std::string, std::vector<double>, std::less<>> more_;
  std::map<std::string, std::vector<int32_t>, std::less<>> more_integers_;
  std::vector<int64_t> bond_;
  std::vector<int32_t> bond_type_;
};

}  // namespace pillion::lammps
