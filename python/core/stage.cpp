// SPDX-License-Identifier: BSD-3-Clause
// The module `pillion._stage`: how the plug-in `python` calls stages in Python, and what these see
// of the host. What a stage is, is decided in pillion/insitu/runner.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <pillion/stage/host.hpp>
#include <string>

#include "core/handles.hpp"
#include "python/bridge.hpp"

namespace nb = nanobind;

namespace pillion::python {

namespace {

/// A stage that Python has made, and the host that it works for.
struct Stage {
  const pillion_stage_host* host;
  nb::object runner;
};

void translate(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("pillion.errors").attr("Error");
    PyErr_SetString(type.ptr(), error.what());
  }
}

int32_t told(const pillion_stage_host* host, ErrorCode code, const std::string& why) {
  return host->fail(static_cast<int32_t>(code), why.c_str());
}

/// Calls body() with the interpreter's lock. Whatever goes wrong becomes a failure of the host;
/// `explained` in pillion/errors.py describes what a stage in Python has raised.
template <class F>
int32_t with_python(const pillion_stage_host* host, ErrorCode code, F&& body) {
  if (Py_IsInitialized() == 0) return told(host, code, "Python has ended already");
  const nb::gil_scoped_acquire locked;
  try {
    body();
    return 0;
  } catch (nb::python_error& error) {
    // The user pressed Ctrl-C: the program must handle it, too, when this is over.
    struct Interrupt {
      bool is_due;
      ~Interrupt() {
        if (is_due) PyErr_SetInterrupt();
      }
    } const interrupt{error.matches(PyExc_KeyboardInterrupt)};
    try {
      PyException_SetTraceback(error.value().ptr(), error.traceback().ptr());
      const nb::object explained = nb::module_::import_("pillion.errors").attr("explained");
      return told(host, code, nb::cast<std::string>(nb::str(explained(error.value()))));
    } catch (const std::exception&) {
      return told(host, code, error.what());
    }
  } catch (const Error& error) {
    return told(host, error.code(), error.what());
  } catch (const std::exception& error) {
    return told(host, code, error.what());
  }
}

template <class Handle>
int32_t call(void* self, Handle* handle, const char* method) {
  auto& stage = *static_cast<Stage*>(self);
  return with_python(stage.host, ErrorCode::Stage, [&] {
    const nb::object object = nb::cast(Lent<Handle>(stage.host, handle));
    struct End {
      nb::object object;
      ~End() { nb::cast<Lent<Handle>&>(object).end(); }
    } end{object};
    stage.runner.attr(method)(object);
  });
}

int32_t create(const pillion_stage_host* host, pillion_setup* setup, void** stage) {
  return with_python(host, ErrorCode::Configuration, [&] {
    stage::expect_host(*host);
    const nb::object object = nb::cast(Setup(host, setup));
    const nb::object make = nb::module_::import_("pillion.insitu.runner").attr("make_runner");
    const nb::object runner = make(object);
    // Rows are added when nothing can go wrong any more. Values of its own are its author's.
    if (!nb::hasattr(runner.attr("stage"), "save"))
      stage::check(host, host->declare_recoverable(setup));
    nb::cast<Setup&>(object).end();
    *stage = new Stage{host, runner};
  });
}

int32_t run(void* stage, pillion_work* work) { return call(stage, work, "run"); }
int32_t finish(void* stage, pillion_work* work) { return call(stage, work, "finish"); }
int32_t save(void* stage, pillion_state* state) { return call(stage, state, "save"); }
int32_t restore(void* stage, pillion_state* state) { return call(stage, state, "restore"); }

void destroy(void* stage) {
  auto* held = static_cast<Stage*>(stage);
  if (held == nullptr) return;
  if (Py_IsInitialized() == 0) {  // its memory went with the interpreter
    (void)held->runner.release();
    delete held;
    return;
  }
  const nb::gil_scoped_acquire locked;
  delete held;
}

constexpr Bridge functions = {bridge_version, create, run, finish, save, restore, destroy};

}  // namespace

}  // namespace pillion::python

NB_MODULE(_stage, module) {
  using namespace pillion::python;
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  module.doc() = "What stages in Python see of the host; use pillion.stage.";
  bind_setup(module);
  bind_work(module);
  bind_state(module);
  module.attr("bridge") = nb::capsule(&functions, bridge_name);
}
