// SPDX-License-Identifier: BSD-3-Clause
// Looking for computes, fixes and variables, and asking them, as LAMMPS's own fixes do.
#include "computed_values.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "catalogue.hpp"
#include "lammps_headers.hpp"
#include "ride.hpp"
#include "shared_atoms.hpp"

namespace pillion::lammps {

namespace {

using LAMMPS_NS::Compute;
using Kind = Source::Kind;

constexpr std::array<std::pair<const char*, Kind>, 5> prefixes = {{{"c_", Kind::Compute},
                                                                   {"f_", Kind::Fix},
                                                                   {"v_", Kind::Variable},
                                                                   {"i_", Kind::Integers},
                                                                   {"d_", Kind::Reals}}};

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  throw std::runtime_error("fix pillion: " + what + " " + why);
}

Compute* find_compute(LAMMPS_NS::LAMMPS& lammps, const std::string& id) {
  for (int i = 0; i < lammps.modify->ncompute; ++i)
    if (id == lammps.modify->compute[i]->id) return lammps.modify->compute[i];
  return nullptr;
}

LAMMPS_NS::Fix* find_fix(LAMMPS_NS::LAMMPS& lammps, const std::string& id) {
  for (int i = 0; i < lammps.modify->nfix; ++i)
    if (id == lammps.modify->fix[i]->id) return lammps.modify->fix[i];
  return nullptr;
}

/// Its number; throws if there is no such variable, or none of the style.
int find_variable(LAMMPS_NS::LAMMPS& lammps, const std::string& name, bool of_atoms,
                  const std::string& what) {
  auto& variables = *lammps.input->variable;
  std::string copy = name;  // older versions take a pointer to what they do not change
  const int number = variables.find(copy.data());
  if (number < 0) fail(what, "names a variable that the input does not define");
  if (of_atoms && variables.atomstyle(number) == 0)
    fail(what, "names a variable that is not of style atom");
  if (!of_atoms && variables.equalstyle(number) == 0)
    fail(what, "names a variable that is not of style equal");
  return number;
}

/// The number of a custom property of atoms; throws if there is none of this type.
int find_property(const LAMMPS_NS::LAMMPS& lammps, const Source& source, int& columns,
                  const std::string& what) {
  int is_real = 0;
  std::string copy = source.id;
  const int number = lammps.atom->find_custom(copy.data(), is_real, columns);
  if (number < 0 || (is_real != 0) != (source.kind == Kind::Reals))
    fail(what, source.kind == Kind::Reals ? "names no custom property of atoms with real values"
                                          : "names no custom property of atoms with integers");
  return number;
}

/// How many values an atom has, 0 for one number; throws if there are none.
int columns_of(LAMMPS_NS::LAMMPS& lammps, const Source& source, int nevery,
               const std::string& what) {
  int columns = 0;
  if (source.kind == Kind::Compute) {
    const Compute* compute = find_compute(lammps, source.id);
    if (compute == nullptr) fail(what, "names a compute that the input does not define");
    if (compute->peratom_flag == 0) fail(what, "names a compute that has no value for each atom");
    return compute->size_peratom_cols;
  }
  if (source.kind == Kind::Fix) {
    const auto* fix = find_fix(lammps, source.id);
    if (fix == nullptr) fail(what, "names a fix that the input does not define");
    if (fix->peratom_flag == 0) fail(what, "names a fix that has no value for each atom");
    if (nevery % fix->peratom_freq != 0)
      fail(what, "names a fix that has values every " + std::to_string(fix->peratom_freq) +
                     " steps; use `every " + std::to_string(fix->peratom_freq) +
                     "` with fix pillion, or a multiple of it");
    return fix->size_peratom_cols;
  }
  if (source.kind == Kind::Variable) find_variable(lammps, source.id, true, what);
  else find_property(lammps, source, columns, what);
  return columns;
}

/// Throws if there is no such number.
void expect_scalar(LAMMPS_NS::LAMMPS& lammps, const Source& source, const std::string& what) {
  if (source.kind == Kind::Variable) find_variable(lammps, source.id, false, what);
  else if (source.kind == Kind::Compute) {
    const Compute* compute = find_compute(lammps, source.id);
    if (compute == nullptr) fail(what, "names a compute that the input does not define");
    if (compute->scalar_flag == 0) fail(what, "names a compute that gives no single number");
  } else {
    const auto* fix = find_fix(lammps, source.id);
    if (fix == nullptr) fail(what, "names a fix that the input does not define");
    if (fix->scalar_flag == 0) fail(what, "names a fix that gives no single number");
  }
}

double scalar_of(LAMMPS_NS::LAMMPS& lammps, const Source& source, const std::string& what) {
  if (source.kind == Kind::Variable)
    return lammps.input->variable->compute_equal(find_variable(lammps, source.id, false, what));
  if (source.kind == Kind::Fix) {
    auto* fix = find_fix(lammps, source.id);
    if (fix == nullptr) fail(what, "names a fix that the input does not define any more");
    return fix->compute_scalar();
  }
  auto* compute = find_compute(lammps, source.id);
  if (compute == nullptr) fail(what, "names a compute that the input does not define any more");
  if ((compute->invoked_flag & Compute::INVOKED_SCALAR) == 0) {
    compute->compute_scalar();
    compute->invoked_flag |= Compute::INVOKED_SCALAR;
  }
  return compute->scalar;
}

const double* first(const double* values, double* const* rows, int columns) {
  if (columns == 0) return values;
  return rows == nullptr ? nullptr : rows[0];
}

}  // namespace

std::optional<Source> source_of(std::string_view name) {
  for (const auto& [prefix, kind] : prefixes)
    if (name.substr(0, 2) == prefix && name.size() > 2)
      return Source{kind, std::string(name.substr(2))};
  return std::nullopt;
}

void ComputedValues::find(const pillion_session* session, LAMMPS_NS::LAMMPS& lammps, int nevery) {
  fields_.clear();
  scalars_.clear();
  nevery_ = nevery;
  int32_t count = 0;
  check(pillion_count_fields(session, &count));
  for (int32_t n = 0; n < count; ++n) {
    pillion_field field{};
    check(pillion_get_field(session, n, &field));
    const auto source = source_of(field.name);
    if (!source || std::string(mesh_name) != field.mesh) continue;
    fields_.push_back({n, field.name, *source, field.components, false, {}});
    if (field.used != 0) check_field(lammps, fields_.back(), field.type);
  }
  check(pillion_count_scalars(session, &count));
  for (int32_t n = 0; n < count; ++n) {
    const char* name = nullptr;
    check(pillion_get_scalar_name(session, n, &name));
    const auto source = source_of(name);
    if (!source || source->kind == Kind::Integers || source->kind == Kind::Reals) continue;
    expect_scalar(lammps, *source, "scalar '" + std::string(name) + "'");
    scalars_.push_back({name, *source});
  }
}

void ComputedValues::check_field(LAMMPS_NS::LAMMPS& lammps, Field& field, pillion_type type) const {
  const std::string what = "field '" + field.name + "'";
  const int columns = std::max(columns_of(lammps, field.source, nevery_, what), 1);
  const bool is_integer = field.source.kind == Kind::Integers;
  if (type != (is_integer ? PILLION_INT32 : PILLION_FLOAT64))
    fail(what, std::string("has another type than LAMMPS's values; declare `type: ") +
                   (is_integer ? "int32`" : "float64`"));
  if (field.components != columns)
    fail(what, "has " + std::to_string(field.components) + " components, and LAMMPS's values " +
                   std::to_string(columns));
  field.is_checked = true;
}

void ComputedValues::announce(LAMMPS_NS::LAMMPS& lammps, int64_t step) {
  lammps.modify->addstep_compute_all(step);
  announced_.insert(step);
}

std::string ComputedValues::share(pillion_session* session, LAMMPS_NS::LAMMPS& lammps,
                                  SharedAtoms& atoms, int group) {
  if (!any()) return "";
  // A run command may begin at a step after which another was announced already.
  announced_.erase(announced_.begin(), announced_.lower_bound(lammps.update->ntimestep));
  if (!announced_.contains(lammps.update->ntimestep)) {
    for (const auto& field : fields_) atoms.unshare(session, field.name.c_str());
    return "step " + std::to_string(lammps.update->ntimestep) +
           " became due without notice, so LAMMPS had not added up energies and virials for "
           "computes and variables";
  }
  lammps.modify->clearstep_compute();
  for (const auto& scalar : scalars_)
    check(pillion_set_scalar(session, scalar.name.c_str(),
                             scalar_of(lammps, scalar.source, "scalar '" + scalar.name + "'")));
  for (auto& field : fields_) {
    pillion_field now{};
    check(pillion_get_field(session, field.number, &now));
    if (now.used == 0) continue;
    if (!field.is_checked) check_field(lammps, field, now.type);
    share_field(session, lammps, atoms, field, group);
  }
  return "";
}

void ComputedValues::share_field(pillion_session* session, LAMMPS_NS::LAMMPS& lammps,
                                 SharedAtoms& atoms, Field& field, int group) {
  const std::string what = "field '" + field.name + "'";
  const auto& source = field.source;
  const int32_t width = field.components;
  int columns = width > 1 ? width : 0;
  if (source.kind == Kind::Compute) {
    auto* compute = find_compute(lammps, source.id);
    if (compute == nullptr) fail(what, "names a compute that the input does not define any more");
    if ((compute->invoked_flag & Compute::INVOKED_PERATOM) == 0) {
      compute->compute_peratom();
      compute->invoked_flag |= Compute::INVOKED_PERATOM;
    }
    columns = compute->size_peratom_cols;
    atoms.share_more(session, field.name.c_str(),
                     first(compute->vector_atom, compute->array_atom, columns), width);
  } else if (source.kind == Kind::Fix) {
    const auto* fix = find_fix(lammps, source.id);
    if (fix == nullptr) fail(what, "names a fix that the input does not define any more");
    columns = fix->size_peratom_cols;
    atoms.share_more(session, field.name.c_str(), first(fix->vector_atom, fix->array_atom, columns),
                     width);
  } else if (source.kind == Kind::Variable) {
    const int number = find_variable(lammps, source.id, true, what);
    field.values.resize(static_cast<size_t>(lammps.atom->nlocal));
    lammps.input->variable->compute_atom(number, group, field.values.data(), 1, 0);
    atoms.share_more(session, field.name.c_str(), field.values.data(), 1);
  } else {
    const int number = find_property(lammps, source, columns, what);
    const auto& atom = *lammps.atom;
    if (source.kind == Kind::Reals)
      atoms.share_more(session, field.name.c_str(),
                       columns == 0 ? atom.dvector[number] : first(nullptr, atom.darray[number], 1),
                       width);
    else
      atoms.share_more(session, field.name.c_str(),
                       columns == 0                     ? atom.ivector[number]
                       : atom.iarray[number] == nullptr ? nullptr
                                                        : atom.iarray[number][0],
                       width);
  }
}

}  // namespace pillion::lammps
