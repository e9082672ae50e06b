// SPDX-License-Identifier: BSD-3-Clause
// Nyx with Pillion: include this in Nyx's main program, as ../../../nyx/nyx.patch does. All state
// and derived variables of all levels come by Nyx's names, dark matter as particles, and the time
// of a step is the scale factor a. Lengths are comoving.
#pragma once

#include <Nyx.H>
#ifdef HEATCOOL
#include <atomic_rates_data.H>
#include <constants_cosmo.H>
#include <eos_hc.H>
#endif

#include <IndexDefines.H>

#include <pillion/amrex/amr.hpp>

namespace pillion::amrex {

/// The session of a run of Nyx.
class NyxSession {
 public:
  NyxSession(int& argc, char**& argv) : amr_(argc, argv) {
    amr_.mesh("grid", {"Mpc", "", ""});
    for (const char* name : {"density", "particle_mass_density", "total_density",
                             "neutrino_mass_density", "agn_mass_density"})
      amr_.units(name, "Msun/Mpc^3");
    for (const char* name : {"x_velocity", "y_velocity", "z_velocity", "magvel", "soundspeed"})
      amr_.units(name, "km/s");
    amr_.units("Temp", "K");
    amr_.vector("velocity", {"x_velocity", "y_velocity", "z_velocity"});
    add_dark_matter();
    add_neutral_hydrogen();
  }

  [[nodiscard]] bool is_sidecar() const { return amr_.is_sidecar(); }
  [[nodiscard]] MPI_Comm communicator() const { return amr_.communicator(); }
  [[nodiscard]] AmrSession& amr() { return amr_; }

  /// Offers the step that Nyx has reached; its time is a. [collective]
  void offer(::amrex::Amr& amr) {
    if (!amr_.is_active()) return;
    const double a = scale_factor(amr.getLevel(0));
    time_ = amr.cumTime();
    redshift_ = 1 / a - 1;
    amr_.offer(amr, a);
  }

 private:
  static double scale_factor(::amrex::AmrLevel& level) {
    return static_cast<Nyx&>(level).get_comoving_a(level.get_state_data(0).curTime());
  }

  void add_dark_matter() {
    particles_.position("dark_matter_position")
        .real("dark_matter_mass", {0}, "Msun")
        .real("dark_matter_velocity", {1, 2, 3}, "km/s");
    amr_.add(
        [this](Catalogue& catalogue) {
          if (Nyx::theDMPC() != nullptr) particles_.declare(catalogue, "Mpc");
          catalogue.scalar("redshift").scalar("code_time", "Mpc s/km");
        },
        [this](Session& session) {
          if (Nyx::theDMPC() != nullptr) particles_.share(session, *Nyx::theDMPC());
          session.set_scalar("redshift", redshift_);
          session.set_scalar("code_time", time_);
        });
  }

  /// Proper number density of neutral hydrogen, for the Lyman-alpha forest: what Nyx's equation of
  /// state has in ionisation equilibrium.
  void add_neutral_hydrogen() {
#if defined(HEATCOOL) && !defined(NO_HYDRO)
    if (!amr_.is_active()) return;
    amr_.units("n_HI", "1/cm^3");
    amr_.derive("n_HI", [](::amrex::AmrLevel& level, ::amrex::MultiFab& out) {
      const double a = scale_factor(level);
      const auto& state = level.get_new_data(State_Type);
      for (::amrex::MFIter box(out); box.isValid(); ++box) {
        const auto gas = state.const_array(box);
        const auto n = out.array(box);
        auto* rates = atomic_rates_glob;
        const double gamma_minus_1 = Nyx::gamma - 1, h_species = Nyx::h_species;
        ::amrex::ParallelFor(box.validbox(), [=] AMREX_GPU_DEVICE(int i, int j, int k) {
          const double density = gas(i, j, k, Density_comp);
          double t = 0, ne = 0, nh0 = 0, nhp = 0, nhe0 = 0, nhep = 0, nhepp = 0;
          nyx_eos_T_given_Re_device(rates, gamma_minus_1, h_species, 1, 1, &t, &ne, density,
                                    gas(i, j, k, Eint_comp) / density, a, nh0, nhp, nhe0, nhep,
                                    nhepp);
          n(i, j, k) = nh0 * density * density_to_cgs / (a * a * a) * h_species / MPROTON;
        });
      }
    });
#endif
  }

  AmrSession amr_;
  ParticleFields particles_{"dark_matter"};
  double time_ = 0, redshift_ = 0;
};

}  // namespace pillion::amrex
