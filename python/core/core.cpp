// SPDX-License-Identifier: BSD-3-Clause
// The module `pillion._core`: sessions for simulations in Python. Thin: defaults, checks of arrays
// and documentation are in Python (pillion/insitu/session.py, opening.py).
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <pillion/session.hpp>

#include "core/errors.hpp"

namespace nb = nanobind;

namespace pillion::python {
void bind_session(nb::module_& module);  // session.cpp
}

namespace {

/// The library that this module was loaded with, as MPI calls itself; to compare with mpi4py's.
std::string mpi_library() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<size_t>(length));
  return text.substr(0, text.find('\0'));
}

/// The folder of that library; empty if it is not known.
std::string mpi_file() {
  Dl_info found{};
  const auto function = reinterpret_cast<void*>(&MPI_Get_library_version);
  return dladdr(function, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);
  nb::register_exception_translator(pillion::python::translate);
  module.doc() = "Sessions of simulations; use pillion.open.";
  module.def("mpi_library", mpi_library, "What MPI calls itself.");
  module.def("mpi_file", mpi_file, "The file of that library.");
  module.def("library_version", pillion::version, "\"MAJOR.MINOR.PATCH\" of the library.");
  pillion::python::bind_session(module);
}
