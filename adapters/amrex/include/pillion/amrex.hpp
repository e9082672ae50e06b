// SPDX-License-Identifier: BSD-3-Clause
// Pillion for programs over AMReX: catalogues from geometries, MultiFabs on all levels, particles,
// and opening before amrex::Initialize. C++17. For programs over AMReX's class Amr there is
// <pillion/amrex/amr.hpp>, which does the whole.
#pragma once

#include <pillion/amrex/boxes.hpp>
#include <pillion/amrex/catalogue.hpp>
#include <pillion/amrex/opening.hpp>
#if __has_include(<AMReX_Particles.H>)  // which programs without particles may lack
#include <pillion/amrex/particles.hpp>
#endif
