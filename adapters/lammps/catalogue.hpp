// SPDX-License-Identifier: BSD-3-Clause
// What LAMMPS offers to Pillion: particle meshes `atoms` and `bonds`, the fields on them, and the
// names of LAMMPS's units, which are known only once its input has been read.
#pragma once

#include <pillion/pillion.h>

#include <string>

namespace pillion::lammps {

/// Names of the particle meshes.
inline constexpr const char* mesh_name = "atoms";
inline constexpr const char* bonds_name = "bonds";

/// YAML with the mesh and its fields, for pillion_options_set_catalogue. Units are left out.
const char* catalogue_text();

/// Names of the units of one of LAMMPS's unit styles; "σ", "τ" and similar ones for reduced units.
/// They are written so that stages can make powers and quotients of them.
struct Units {
  const char* style;
  const char* length;
  const char* time;
  const char* mass;
  const char* velocity;
  const char* charge;
  const char* force;
};

/// Units of a unit style; throws std::runtime_error if LAMMPS has one that is not known here.
const Units& units_of(const std::string& style);

/// Whether an analysis uses a field, those of attached jobs included.
bool uses(const pillion_session* session, const char* field);

/// Tells the session the units of everything in the catalogue.
void set_units(pillion_session* session, const Units& units);

}  // namespace pillion::lammps
