// SPDX-License-Identifier: BSD-3-Clause
// The interpreter. Python's functions are looked up at run time: Pillion is built without Python
// for this, and a process keeps the one interpreter that it has.
#include "embedded.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <pillion/error.hpp>
#include <sstream>
#include <utility>

#include "content.hpp"
#include "process.hpp"

// The files *.py of this folder, as texts.
#define PILLION_TEXT(name)                                                        \
  asm(".section .rodata\n"                                                        \
      "pillion_catalyst_" #name ":\n.incbin \"" PILLION_CATALYST_FOLDER "/" #name \
      ".py"                                                                       \
      "\"\n.byte 0\n"                                                             \
      ".previous\n");                                                             \
  extern "C" __attribute__((visibility("hidden"))) const char pillion_catalyst_##name[]
PILLION_TEXT(datasets);
PILLION_TEXT(display);
PILLION_TEXT(parallel);
PILLION_TEXT(pipeline);
PILLION_TEXT(worker);

namespace pillion::stages::catalyst {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::Stage, why); }

constexpr const char* make_package = R"(
import sys, types
if "pillion_catalyst" not in sys.modules:
    package = sys.modules["pillion_catalyst"] = types.ModuleType("pillion_catalyst")
    package.__path__ = []
    for name, text in texts.items():
        module = types.ModuleType("pillion_catalyst." + name)
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(compile(text, name + ".py of the stage catalyst", "exec"), module.__dict__)
)";

constexpr const char* questions = R"(
import importlib.util, json, os, sys, sysconfig
for name in ("mpi4py", "vtkmodules.vtkParallelMPI4Py"):
    if importlib.util.find_spec(name) is None:
        print(name)
        raise SystemExit()
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
get = sysconfig.get_config_var
print(os.path.join(get("LIBDIR"), get("INSTSONAME")))
print(sysconfig.get_python_version())
print(json.dumps(MPI.Get_library_version()))
print(json.dumps(sys.base_prefix))
print(json.dumps([folder for folder in sys.path if folder]))
)";

/// An object of Python; nothing is known of it here.
struct Object;

/// The functions of Python that are called. All belong to its stable interface but two,
/// Py_SetProgramName and PyRun_SimpleString, which have not changed since Python 3.0.
struct Functions {
  int (*is_initialized)();
  const char* (*version)();
  wchar_t* (*decode)(const char*, size_t*);
  void (*set_program_name)(const wchar_t*);
  void (*initialize)(int);
  void* (*unlock)();
  int (*lock)();
  void (*release)(int);
  int (*run)(const char*);
  Object* (*import_module)(const char*);
  Object* (*call_method)(Object*, const char*, const char*, ...);
  const char* (*utf8)(Object*, ssize_t*);
  void (*drop)(Object*);
  void (*print_error)();
};

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) refuse(std::string("the library of Python has no function ") + name);
}

Functions find_functions(void* library) {
  Functions out{};
  find(library, "Py_IsInitialized", out.is_initialized);
  find(library, "Py_GetVersion", out.version);
  find(library, "Py_DecodeLocale", out.decode);
  find(library, "Py_SetProgramName", out.set_program_name);
  find(library, "Py_InitializeEx", out.initialize);
  find(library, "PyEval_SaveThread", out.unlock);
  find(library, "PyGILState_Ensure", out.lock);
  find(library, "PyGILState_Release", out.release);
  find(library, "PyRun_SimpleString", out.run);
  find(library, "PyImport_ImportModule", out.import_module);
  find(library, "PyObject_CallMethod", out.call_method);
  find(library, "PyUnicode_AsUTF8AndSize", out.utf8);
  find(library, "Py_DecRef", out.drop);
  find(library, "PyErr_Print", out.print_error);
  return out;
}

/// Python's modules in C expect its functions to be there for everyone.
void* load_library(const Python& python) {
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return RTLD_DEFAULT;
  const std::string name = python.library.substr(python.library.rfind('/') + 1);
  for (const std::string& candidate : {python.library, name})
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  refuse("the library of " + python.program + " cannot be loaded, " + python.library + ": " +
         dlerror());
}

Functions start(const Python& python) {
  const Functions functions = find_functions(load_library(python));
  const std::string version = functions.version();
  if (!version.starts_with(python.version + "."))
    refuse("ParaView needs the library of Python " + python.version +
           ", but this process has that of " + version.substr(0, version.find(' ')));
  if (functions.is_initialized() != 0) return functions;
  // Lives as long as the interpreter, which is never ended.
  functions.set_program_name(functions.decode(python.program.c_str(), nullptr));
  constexpr int without_signal_handlers = 0;
  functions.initialize(without_signal_handlers);
  functions.unlock();
  return functions;
}

const Functions& interpreter(const Python& python) {
  static const Functions functions = start(python);
  return functions;
}

}  // namespace

std::string package_text() {
  const std::pair<const char*, const char*> texts[] = {{"datasets", pillion_catalyst_datasets},
                                                       {"display", pillion_catalyst_display},
                                                       {"pipeline", pillion_catalyst_pipeline},
                                                       {"parallel", pillion_catalyst_parallel},
                                                       {"worker", pillion_catalyst_worker}};
  std::string out = "texts = {";
  for (const auto& [name, text] : texts) out += json_text(name) + ": " + json_text(text) + ", ";
  return out + "}\n" + make_package;
}

Python ask_python(const std::string& program, const stage::Value& place) {
  Python out{program};
  std::istringstream lines(output_of({program, "-c", questions}));
  std::getline(lines, out.library);
  const bool is_whole = std::getline(lines, out.version) && std::getline(lines, out.mpi) &&
                        std::getline(lines, out.prefix) && std::getline(lines, out.path);
  if (is_whole) return out;
  place.fail(out.library.empty()
                 ? "mpi4py of " + program + ", which ParaView needs in parallel, cannot be used"
                 : program + " has no module " + out.library +
                       ", which ParaView needs in parallel; install the package python3-mpi4py, "
                       "or a ParaView that was built with MPI");
}

std::string call_python(const Python& python, const char* function, const std::string& message) {
  const Functions& functions = interpreter(python);
  const int state = functions.lock();
  std::string answer = "Python printed the reason above";
  // The package is made in a scope of its own: the names of a program's module are its own.
  if (functions.run(("exec(" + json_text(package_text()) + ", {})").c_str()) == 0) {
    Object* module = functions.import_module("pillion_catalyst.parallel");
    Object* text =
        module == nullptr ? nullptr : functions.call_method(module, function, "s", message.c_str());
    const char* words = text == nullptr ? nullptr : functions.utf8(text, nullptr);
    if (words != nullptr) answer = words;
    else functions.print_error();
    if (text != nullptr) functions.drop(text);
    if (module != nullptr) functions.drop(module);
  }
  functions.release(state);
  return answer;
}

TimeLimit::TimeLimit(double seconds, std::string message)
    : thread_([this, seconds, message = std::move(message)] {
        std::unique_lock lock(mutex_);
        // Woken by the destructor; ParaView is in a call that may wait for other peers.
        if (ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return is_over_; }))
          return;
        std::fprintf(stderr, "%s\n", message.c_str());
        ::_exit(1);
      }) {}

TimeLimit::~TimeLimit() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

}  // namespace pillion::stages::catalyst
