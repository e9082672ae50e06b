// SPDX-License-Identifier: BSD-3-Clause
// Gathering and sharing, field by field. Image flags are three signed counts packed in one integer,
// each offset by IMGMAX; a mass belongs to the type unless the atom style gives each atom its own.
#include "shared_atoms.hpp"

#include <algorithm>
#include <type_traits>

#include "lammps_headers.hpp"
#include "ride.hpp"

namespace pillion::lammps {

namespace {

constexpr pillion_type type_of(const int32_t*) { return PILLION_INT32; }
constexpr pillion_type type_of(const int64_t*) { return PILLION_INT64; }
constexpr pillion_type type_of(const double*) { return PILLION_FLOAT64; }

void unpack_image(LAMMPS_NS::imageint image, int32_t* out) {
  out[0] = static_cast<int32_t>(image & IMGMASK) - IMGMAX;
  out[1] = static_cast<int32_t>((image >> IMGBITS) & IMGMASK) - IMGMAX;
  out[2] = static_cast<int32_t>(image >> IMG2BITS) - IMGMAX;
}

const double* first(double** rows) { return rows == nullptr ? nullptr : rows[0]; }

}  // namespace

template <class T>
void SharedAtoms::put(pillion_session* session, const char* field, const T* values) {
  put(session, field, values, count_);
}

template <class T>
void SharedAtoms::put(pillion_session* session, const char* field, const T* values, int64_t count) {
  static constexpr T none{};  // LAMMPS may have no memory for no atoms
  check(pillion_share_particles_typed(session, field, 0, count, values == nullptr ? &none : values,
                                      type_of(values)));
  if (std::find(shared_.begin(), shared_.end(), field) == shared_.end())
    shared_.emplace_back(field);
}

template <class T, class F>
const T* SharedAtoms::gather(std::vector<T>& buffer, int width, F&& write) const {
  buffer.resize(static_cast<size_t>(count_ * width));
  for (int64_t n = 0; n < count_; ++n)
    write(all_ ? static_cast<int32_t>(n) : members_[static_cast<size_t>(n)],
          buffer.data() + n * width);
  return buffer.data();
}

template <class T>
const T* SharedAtoms::of_group(std::vector<T>& buffer, const T* values, int width) const {
  if (all_) return values;
  return gather(buffer, width,
                [&](int32_t i, T* out) { std::copy_n(values + int64_t{i} * width, width, out); });
}

void SharedAtoms::select(const LAMMPS_NS::Atom& atom, int group_bit) {
  members_.clear();
  for (int32_t i = 0; i < atom.nlocal; ++i)
    if ((atom.mask[i] & group_bit) != 0) members_.push_back(i);
  count_ = static_cast<int64_t>(members_.size());
  all_ = count_ == atom.nlocal;
}

void SharedAtoms::share_identity(pillion_session* session, const LAMMPS_NS::Atom& atom) {
  if (atom.tag_enable != 0)
    put(session, "id", gather(id_, 1, [&](int32_t i, int64_t* out) { *out = atom.tag[i]; }));
  put(session, "type", of_group(type_, atom.type, 1));
  if (atom.molecule_flag != 0)
    put(session, "molecule",
        gather(molecule_, 1, [&](int32_t i, int64_t* out) { *out = atom.molecule[i]; }));
  put(session, "image",
      gather(image_, 3, [&](int32_t i, int32_t* out) { unpack_image(atom.image[i], out); }));
}

void SharedAtoms::share_state(pillion_session* session, const LAMMPS_NS::Atom& atom) {
  put(session, "position", of_group(position_, first(atom.x), 3));
  put(session, "velocity", of_group(velocity_, first(atom.v), 3));
  put(session, "force", of_group(force_, first(atom.f), 3));
  put(session, "mass", gather(mass_, 1, [&](int32_t i, double* out) {
        *out = atom.rmass != nullptr ? atom.rmass[i] : atom.mass[atom.type[i]];
      }));
  if (atom.q_flag != 0) put(session, "charge", of_group(charge_, atom.q, 1));
}

void SharedAtoms::share(pillion_session* session, const LAMMPS_NS::Atom& atom, int group_bit) {
  select(atom, group_bit);
  share_identity(session, atom);
  share_state(session, atom);
}

template <class T>
void SharedAtoms::share_more(pillion_session* session, const char* field, const T* values,
                             int width) {
  if constexpr (std::is_same_v<T, double>)
    put(session, field, of_group(more_[field], values, width));
  else put(session, field, of_group(more_integers_[field], values, width));
}

template void SharedAtoms::share_more(pillion_session*, const char*, const double*, int);
template void SharedAtoms::share_more(pillion_session*, const char*, const int32_t*, int);

void SharedAtoms::share_bonds(pillion_session* session, const LAMMPS_NS::Atom& atom,
                              bool each_is_stored_once) {
  if (atom.num_bond == nullptr) return;  // the atom style has none
  bond_.clear();
  bond_type_.clear();
  for (int64_t n = 0; n < count_; ++n) {
    const int32_t i = all_ ? static_cast<int32_t>(n) : members_[static_cast<size_t>(n)];
    for (int b = 0; b < atom.num_bond[i]; ++b) {
      const auto own = atom.tag[i], other = atom.bond_atom[i][b];
      if (!each_is_stored_once && own > other) continue;
      if (atom.bond_type[i][b] == 0) continue;  // it was broken
      bond_.insert(bond_.end(), {own, other});
      bond_type_.push_back(atom.bond_type[i][b]);
    }
  }
  const auto bonds = static_cast<int64_t>(bond_type_.size());
  put<int64_t>(session, "bond", bond_.data(), bonds);
  put<int32_t>(session, "bond_type", bond_type_.data(), bonds);
}

void SharedAtoms::unshare(pillion_session* session, const char* field) {
  if (std::erase(shared_, field) > 0) check(pillion_unshare(session, field, 0));
}

void SharedAtoms::unshare(pillion_session* session) {
  for (const auto& field : shared_) check(pillion_unshare(session, field.c_str(), 0));
  shared_.clear();
}

}  // namespace pillion::lammps
