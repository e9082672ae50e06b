// SPDX-License-Identifier: BSD-3-Clause
// The entry point that LAMMPS's `plugin load` looks for: it hands LAMMPS the one fix of this file.
// The structure is the one that LAMMPS documents for plug-ins of version 1 of its interface.
#include "fix_pillion.hpp"

namespace {

using Create = LAMMPS_NS::Fix*(LAMMPS_NS::LAMMPS*, int, char**);

struct Registration {
  const char* version;  ///< of the LAMMPS whose headers were used
  const char* style;
  const char* name;
  const char* info;
  const char* author;
  union {
    void* (*of_one)(LAMMPS_NS::LAMMPS*);
    Create* of_arguments;
  } creator;
  void* handle;
};

using Register = void (*)(Registration*, void*);

}  // namespace

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void* lammps, void* handle,
                                                                         void* callback) {
  Registration registration{};
#ifdef PILLION_LAMMPS_VERSION
  registration.version = PILLION_LAMMPS_VERSION;
#else
  registration.version = static_cast<LAMMPS_NS::LAMMPS*>(lammps)->version;
#endif
  registration.style = "fix";
  registration.name = "pillion";
  registration.info = "in situ and in transit analysis with Pillion";
  registration.author = "the Pillion authors";
  registration.creator.of_arguments = &pillion::lammps::create_fix;
  registration.handle = handle;
  reinterpret_cast<Register>(callback)(&registration, lammps);
}
