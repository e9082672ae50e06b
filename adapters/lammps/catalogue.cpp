// SPDX-License-Identifier: BSD-3-Clause
// The catalogue and the units, as tables. Units follow the page of LAMMPS's `units` command; "atu"
// is the atomic unit of time by its definition there, 1.03275e-15 s, and "q" the reduced unit of
// charge.
#include "catalogue.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "ride.hpp"

namespace pillion::lammps {

namespace {

constexpr std::array<Units, 8> unit_styles = {{
    {"real", "Å", "fs", "g/mol", "Å/fs", "e", "kcal/mol/Å"},
    {"metal", "Å", "ps", "g/mol", "Å/ps", "e", "eV/Å"},
    {"si", "m", "s", "kg", "m/s", "C", "N"},
    {"cgs", "cm", "s", "g", "cm/s", "statC", "dyn"},
    {"electron", "bohr", "fs", "u", "bohr/atu", "e", "hartree/bohr"},
    {"micro", "µm", "µs", "pg", "µm/µs", "pC", "pg µm/µs^2"},
    {"nano", "nm", "ns", "ag", "nm/ns", "e", "ag nm/ns^2"},
    {"lj", "σ", "τ", "m", "σ/τ", "q", "ε/σ"},
}};

}  // namespace

const char* catalogue_text() {
  return R"(meshes:
  atoms: {kind: particles}
  bonds: {kind: particles}
fields:
  id: {mesh: atoms, type: int64}
  type: {mesh: atoms, type: int32}
  molecule: {mesh: atoms, type: int64}
  image: {mesh: atoms, type: int32, components: 3}
  position: {mesh: atoms, type: float64, components: 3}
  velocity: {mesh: atoms, type: float64, components: 3}
  force: {mesh: atoms, type: float64, components: 3}
  mass: {mesh: atoms, type: float64}
  charge: {mesh: atoms, type: float64}
  bond: {mesh: bonds, type: int64, components: 2}
  bond_type: {mesh: bonds, type: int32}
)";
}

const Units& units_of(const std::string& style) {
  for (const auto& units : unit_styles)
    if (style == units.style) return units;
  throw std::runtime_error("fix pillion does not know the unit style '" + style + "'");
}

bool uses(const pillion_session* session, const char* field) {
  int32_t count = 0;
  check(pillion_count_fields(session, &count));
  for (int32_t n = 0; n < count; ++n) {
    pillion_field found{};
    check(pillion_get_field(session, n, &found));
    if (std::string(found.name) == field) return found.used != 0;
  }
  return false;
}

void set_units(pillion_session* session, const Units& units) {
  const std::array<std::pair<const char*, const char*>, 8> entries = {{{"time", units.time},
                                                                       {mesh_name, units.length},
                                                                       {bonds_name, units.length},
                                                                       {"position", units.length},
                                                                       {"velocity", units.velocity},
                                                                       {"force", units.force},
                                                                       {"mass", units.mass},
                                                                       {"charge", units.charge}}};
  for (const auto& [name, text] : entries) check(pillion_set_units(session, name, text));
}

}  // namespace pillion::lammps
