// SPDX-License-Identifier: BSD-3-Clause
// Python's functions are looked up at run time, so that nothing of Python is loaded in a process
// that runs no stage in Python, and a simulation in Python keeps the one interpreter that it has.
#include "python/bridge.hpp"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <pillion/error.hpp>
#include <string>
#include <vector>

namespace pillion::python {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::Plugin, why); }

/// The functions of Python that are called, whichever library has them.
struct Functions {
  decltype(&Py_IsInitialized) is_initialized;
  decltype(&PyPreConfig_InitPythonConfig) init_before_config;
  decltype(&Py_PreInitialize) initialize_before;
  decltype(&PyConfig_InitPythonConfig) init_config;
  decltype(&PyConfig_SetBytesString) set_text;
  decltype(&PyConfig_Clear) clear_config;
  decltype(&Py_InitializeFromConfig) initialize;
  decltype(&PyStatus_Exception) is_failure;
  decltype(&PyEval_SaveThread) unlock;
  decltype(&PyGILState_Ensure) lock;
  decltype(&PyGILState_Release) release;
  decltype(&PyRun_SimpleString) run;
  decltype(&PyImport_ImportModule) import_module;
  decltype(&PyCapsule_Import) import_capsule;
  decltype(&PyErr_Fetch) fetch;
  decltype(&PyObject_Str) text_of;
  decltype(&PyUnicode_AsUTF8) utf8;
};

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr)
    fail(std::string("the Python library has no function ") + name +
         ": it is another version than the one that Pillion was built with, " PY_VERSION);
}

Functions find_functions(void* library) {
  Functions out{};
  find(library, "Py_IsInitialized", out.is_initialized);
  find(library, "PyPreConfig_InitPythonConfig", out.init_before_config);
  find(library, "Py_PreInitialize", out.initialize_before);
  find(library, "PyConfig_InitPythonConfig", out.init_config);
  find(library, "PyConfig_SetBytesString", out.set_text);
  find(library, "PyConfig_Clear", out.clear_config);
  find(library, "Py_InitializeFromConfig", out.initialize);
  find(library, "PyStatus_Exception", out.is_failure);
  find(library, "PyEval_SaveThread", out.unlock);
  find(library, "PyGILState_Ensure", out.lock);
  find(library, "PyGILState_Release", out.release);
  find(library, "PyRun_SimpleString", out.run);
  find(library, "PyImport_ImportModule", out.import_module);
  find(library, "PyCapsule_Import", out.import_capsule);
  find(library, "PyErr_Fetch", out.fetch);
  find(library, "PyObject_Str", out.text_of);
  find(library, "PyUnicode_AsUTF8", out.utf8);
  return out;
}

/// Python's own modules in C expect its functions to be there for everyone.
void* load_library() {
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return RTLD_DEFAULT;
  const char* named = std::getenv("PILLION_LIBPYTHON");
  std::string reasons;
  const auto candidates = named != nullptr
                              ? std::vector<std::string>{named}
                              : std::vector<std::string>{PILLION_LIBPYTHON_PATH, PILLION_LIBPYTHON};
  for (const std::string& candidate : candidates) {
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    reasons += std::string("\n  ") + dlerror();
  }
  fail("the Python library cannot be loaded; name it in PILLION_LIBPYTHON:" + reasons);
}

/// The folder that this plug-in lies in.
fs::path own_folder() {
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&bridge), &info) == 0) return {};
  return fs::canonical(info.dli_fname, error).parent_path();
}

/// The interpreter whose packages are used: the one that is named, or that of the virtual
/// environment that this is installed in, or the one that Pillion was built with.
std::string executable() {
  if (const char* named = std::getenv("PILLION_PYTHON")) return named;
  std::error_code error;
  for (fs::path folder = own_folder(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::exists(folder / "pyvenv.cfg", error)) return folder / "bin" / "python3";
  return PILLION_PYTHON_EXECUTABLE;
}

/// Where the package `pillion` lies if it is not among the interpreter's own: beside the stages of
/// a build, or as installed.
std::string package_folder() {
  const fs::path own = own_folder();
  std::error_code error;
  for (const fs::path& folder :
       {own.parent_path() / "python", (own / PILLION_PACKAGE_FROM_STAGES).lexically_normal()})
    if (fs::exists(folder / "pillion" / "__init__.py", error)) return folder;
  return {};
}

/// As a text within quotes of Python.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c == '\n') out += "\\n";
    else out += c == '\\' || c == '\'' ? std::string{'\\', c} : std::string{c};
  return out;
}

/// Runs statements with names of their own: those of the program are not ours to change.
void run_apart(const Functions& python, const std::string& statements) {
  python.run(("exec('" + escaped(statements) + "', {})").c_str());
}

void start(const Functions& python) {
  // The locale of the process is the simulation's, too: texts are in UTF-8 without it.
  PyPreConfig before;
  python.init_before_config(&before);
  before.configure_locale = before.coerce_c_locale = 0;
  before.utf8_mode = 1;
  const PyStatus begun = python.initialize_before(&before);
  if (python.is_failure(begun) != 0)
    fail(std::string("Python cannot be prepared: ") +
         (begun.err_msg != nullptr ? begun.err_msg : "it gives no reason"));
  PyConfig config;
  python.init_config(&config);
  config.install_signal_handlers = 0;  // the simulation's are to stay
  config.parse_argv = 0;
  PyStatus status = python.set_text(&config, &config.program_name, executable().c_str());
  if (python.is_failure(status) == 0) status = python.initialize(&config);
  python.clear_config(&config);
  if (python.is_failure(status) != 0)
    fail("Python cannot be started with the interpreter " + executable() + ": " +
         (status.err_msg != nullptr ? status.err_msg : "it gives no reason") +
         "; name another in PILLION_PYTHON");
  // MPI is the simulation's to begin and to end.
  run_apart(python,
            "try:\n    import mpi4py\n    mpi4py.rc.initialize = mpi4py.rc.finalize = False\n"
            "except ImportError:\n    pass\n");
  python.unlock();
}

/// Python's description of the current failure, which is cleared.
std::string failure(const Functions& python) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  python.fetch(&type, &value, &trace);
  PyObject* text = value == nullptr ? nullptr : python.text_of(value);
  const char* words = text == nullptr ? nullptr : python.utf8(text);
  return words == nullptr ? "Python says not why" : words;
}

const Bridge* import_bridge(const Functions& python) {
  const std::string folder = package_folder();
  if (!folder.empty())
    run_apart(python, "import sys\nfolder = '" + escaped(folder) +
                          "'\nif folder not in sys.path: sys.path.append(folder)\n");
  // The capsule's name alone would not import the module.
  const bool imported = python.import_module(bridge_module) != nullptr;
  const auto* found =
      imported ? static_cast<const Bridge*>(python.import_capsule(bridge_name, 0)) : nullptr;
  if (found == nullptr)
    fail("the package pillion cannot be imported by " + executable() + " (" + PY_VERSION +
         "): " + failure(python) +
         "; install it there (pip install .), or name its interpreter in PILLION_PYTHON");
  if (found->version != bridge_version)
    fail("the package pillion that Python imports is of another version than this stage");
  return found;
}

}  // namespace

const Bridge& bridge() {
  static std::mutex mutex;
  static const Bridge* found = nullptr;
  const std::lock_guard guard(mutex);
  if (found != nullptr) return *found;
  const Functions python = find_functions(load_library());
  if (python.is_initialized() == 0) start(python);
  const PyGILState_STATE state = python.lock();
  try {
    found = import_bridge(python);
  } catch (...) {
    python.release(state);
    throw;
  }
  python.release(state);
  return *found;
}

}  // namespace pillion::python
