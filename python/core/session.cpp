// SPDX-License-Identifier: BSD-3-Clause
// Binding of pillion::Session. The interpreter's lock is released wherever a call may block or run
// stages, which may be stages in Python. Arrays come as addresses: their owner is kept by the
// session's face in Python.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <pillion/session.hpp>

#include "core/element_types.hpp"

namespace nb = nanobind;

namespace pillion::python {

namespace {

/// A session that is not closed when Python's object goes: that waits for other ranks, who knows
/// when. The user closes it; at the latest MPI_Finalize does.
struct Held : Session {
  explicit Held(Session&& session) : Session(std::move(session)) {}
  Held(Held&& other) noexcept = default;
  Held& operator=(Held&& other) noexcept = default;
  ~Held() {
    if (is_open()) new Session(std::move(*this));
  }
};

using Texts = std::map<std::string, std::string>;
using Indices = std::vector<int64_t>;

constexpr const char* level_names[] = {"debug", "info", "warning", "error"};

/// Messages come on any thread, and a log that fails must not end a simulation.
Options::Log log_to(nb::callable log) {
  const auto kept = std::shared_ptr<nb::callable>(new nb::callable(std::move(log)), [](auto* held) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire locked;
    delete held;
  });
  return [kept](LogLevel level, const std::string& message) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire locked;
    try {
      (*kept)(level_names[static_cast<size_t>(level)], message);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the log of a Pillion session");
    }
  };
}

struct Wishes {
  Texts parameters;
  Texts overrides;
  std::string catalogue;
  std::string restart;
  int32_t role = PILLION_ROLE_ANY;
  bool deferred = false;
  bool logs = false;
  nb::object log;
};

Options options_of(const Wishes& wishes) {
  Options options;
  for (const auto& [name, value] : wishes.parameters) options.set(name, value);
  for (const auto& [key, yaml] : wishes.overrides) options.override_entry(key, yaml);
  options.role(static_cast<Role>(wishes.role)).restart(wishes.restart);
  if (!wishes.catalogue.empty()) options.catalogue(wishes.catalogue);
  if (wishes.deferred) options.deferred();
  if (wishes.logs)
    options.log(wishes.log.is_none() ? Options::Log() : log_to(nb::cast<nb::callable>(wishes.log)));
  return options;
}

Held open(const std::string& file, MPI_Fint comm, const Texts& parameters, const Texts& overrides,
          const std::string& catalogue, const std::string& restart, int32_t role, bool deferred,
          bool logs, const nb::object& log) {
  const auto options =
      options_of({parameters, overrides, catalogue, restart, role, deferred, logs, log});
  const nb::gil_scoped_release unlocked;
  return Held(Session::open(file, MPI_Comm_f2c(comm), options));
}

void check(pillion_status status) {
  if (status != PILLION_OK) throw Error(static_cast<ErrorCode>(status), pillion_error_message());
}

void share_box(const Held& session, const std::string& field, int32_t level, int32_t block,
               const Indices& lo, const Indices& hi, uintptr_t data, int32_t type,
               const Indices& strides) {
  check(pillion_share_box_level(session.handle(), field.c_str(), level, block, lo.data(), hi.data(),
                                reinterpret_cast<const void*>(data), type, strides.data()));
}

void share_particles(const Held& session, const std::string& field, int32_t block, int64_t count,
                     uintptr_t data, int32_t type) {
  check(pillion_share_particles_typed(session.handle(), field.c_str(), block, count,
                                      reinterpret_cast<const void*>(data), type));
}

void share_elements(const Held& session, const std::string& field, int32_t block, int64_t count,
                    uintptr_t data, int32_t type) {
  check(pillion_share_elements_typed(session.handle(), field.c_str(), block, count,
                                     reinterpret_cast<const void*>(data), type));
}

void share_values(const Held& session, const std::string& field, int32_t block, int64_t count,
                  uintptr_t data, int32_t type) {
  check(pillion_share_values_typed(session.handle(), field.c_str(), block, count,
                                   reinterpret_cast<const void*>(data), type));
}

template <class T>
const T* pointer(uintptr_t address) {
  return reinterpret_cast<const T*>(address);
}

/// `data` is an address for each coordinate.
void share_points(const Held& session, const std::string& mesh, int32_t block, int64_t count,
                  const std::vector<uintptr_t>& data, int64_t stride, int32_t type, uintptr_t ids) {
  pillion_points points{};
  points.size = sizeof points;
  points.count = count;
  for (size_t d = 0; d < std::min<size_t>(3, data.size()); ++d)
    points.data[d] = pointer<void>(data[d]);
  points.stride = stride;
  points.dimensions = static_cast<int32_t>(data.size());
  points.type = type;
  points.ids = pointer<int64_t>(ids);
  check(pillion_share_points(session.handle(), mesh.c_str(), block, &points));
}

/// `arrays` has the addresses of those that are given, by the names of pillion_cells.
void share_cells(const Held& session, const std::string& mesh, int32_t block, int64_t count,
                 int32_t type, int32_t index_type, int32_t base, bool points_are_ids,
                 int64_t face_count, const std::map<std::string, uintptr_t>& arrays) {
  const auto at = [&](const char* name) {
    const auto found = arrays.find(name);
    return found == arrays.end() ? uintptr_t{0} : found->second;
  };
  pillion_cells cells{};
  cells.size = sizeof cells;
  cells.count = count;
  cells.types = pointer<uint8_t>(at("types"));
  cells.type = type;
  cells.index_type = index_type;
  cells.base = base;
  cells.points_are_ids = points_are_ids ? 1 : 0;
  cells.offsets = pointer<void>(at("offsets"));
  cells.points = pointer<void>(at("points"));
  cells.face_count = face_count;
  cells.face_offsets = pointer<void>(at("face_offsets"));
  cells.face_points = pointer<void>(at("face_points"));
  cells.polyhedron_offsets = pointer<void>(at("polyhedron_offsets"));
  cells.polyhedron_faces = pointer<void>(at("polyhedron_faces"));
  cells.flags = pointer<uint8_t>(at("flags"));
  cells.ids = pointer<int64_t>(at("ids"));
  cells.parents = pointer<int64_t>(at("parents"));
  cells.patches = pointer<int32_t>(at("patches"));
  check(pillion_share_cells(session.handle(), mesh.c_str(), block, &cells));
}

using Addresses = std::vector<uintptr_t>;

/// Calls share with what the C interface takes.
template <class Share>
void share_apart(const Addresses& data, int32_t type, const Indices& strides, Share&& share) {
  std::vector<const void*> all;
  for (const uintptr_t address : data) all.push_back(reinterpret_cast<const void*>(address));
  const pillion_arrays arrays{sizeof arrays, all.data(), type, static_cast<int32_t>(all.size()),
                              strides.data()};
  check(share(&arrays));
}

void share_box_components(const Held& session, const std::string& field, int32_t level,
                          int32_t block, const Indices& lo, const Indices& hi,
                          const Addresses& data, int32_t type, const Indices& strides) {
  share_apart(data, type, strides, [&](const pillion_arrays* arrays) {
    return pillion_share_box_components(session.handle(), field.c_str(), level, block, lo.data(),
                                        hi.data(), arrays);
  });
}

void share_components(const Held& session, const std::string& field, int32_t block, int64_t count,
                      const Addresses& data, int32_t type, const Indices& strides) {
  share_apart(data, type, strides, [&](const pillion_arrays* arrays) {
    return pillion_share_components(session.handle(), field.c_str(), block, count, arrays);
  });
}

uintptr_t allocate(const Held& session, const std::string& field, int32_t block, size_t bytes,
                   int32_t buffers) {
  void* data = nullptr;
  check(pillion_allocate(session.handle(), field.c_str(), block, bytes, buffers, &data));
  return reinterpret_cast<uintptr_t>(data);
}

uintptr_t swap(const Held& session, const std::string& field, int32_t block) {
  void* data = nullptr;
  check(pillion_swap(session.handle(), field.c_str(), block, &data));
  return reinterpret_cast<uintptr_t>(data);
}

/// An array over such memory, which stays as long as the array is referenced.
nb::object array_of(const Held& session, uintptr_t data, const std::vector<size_t>& shape,
                    const Indices& strides, int32_t type) {
  pillion_kept* kept = nullptr;
  check(pillion_keep(session.handle(), reinterpret_cast<const void*>(data), &kept));
  const nb::capsule owner(
      kept, [](void* held) noexcept { pillion_release(static_cast<pillion_kept*>(held)); });
  return nb::cast(nb::ndarray<nb::numpy>(reinterpret_cast<void*>(data), shape.size(), shape.data(),
                                         owner, strides.data(), dtype_of(type)),
                  nb::rv_policy::reference);
}

nb::dict progress_of(const Held& session) {
  const Progress now = session.progress();
  nb::dict out;
  out["step"] = now.step;
  out["time"] = now.time;
  out["steps_per_second"] = now.steps_per_second;
  out["publications"] = now.publications;
  out["skipped"] = now.skipped;
  out["behind"] = now.behind;
  out["stall_seconds"] = now.stall_seconds;
  out["disabled"] = now.disabled;
  return out;
}

using Lengths = std::array<double, 3>;

void set_domain(Held& session, const std::string& mesh, const Lengths& lo, const Lengths& hi,
                const Lengths& tilt, const std::array<bool, 3>& periodic, int32_t dimensions) {
  Domain domain{};
  domain.dimensions = dimensions;
  for (size_t d = 0; d < 3; ++d) {
    domain.lo[d] = lo[d];
    domain.hi[d] = hi[d];
    domain.tilt[d] = tilt[d];
    domain.periodic[d] = periodic[d] ? 1 : 0;
  }
  session.set_domain(mesh, domain);
}

void set_coordinates(Held& session, const std::string& mesh, int32_t axis,
                     const std::vector<double>& values) {
  session.set_coordinates(mesh, axis, values);
}

void bind_field(nb::module_& module) {
  nb::class_<Field>(module, "Field")
      .def_ro("name", &Field::name)
      .def_ro("mesh", &Field::mesh)
      .def_ro("mesh_kind", &Field::mesh_kind)
      .def_ro("type", &Field::type)
      .def_ro("components", &Field::components)
      .def_ro("axes", &Field::axes)
      .def_ro("cells", &Field::cells)
      .def_ro("used", &Field::used)
      .def_ro("order", &Field::order)
      .def_ro("levels", &Field::levels)
      .def_ro("is_partial", &Field::is_partial)
      .def_ro("centering", &Field::centering)
      .def_ro("point_axes", &Field::point_axes)
      .def_ro("is_constant", &Field::is_constant)
      .def_ro("units", &Field::units);
}

}  // namespace

void bind_session(nb::module_& module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  bind_field(module);
  module.def("open", open, nb::arg("file"), nb::arg("comm"), nb::arg("parameters"),
             nb::arg("overrides"), nb::arg("catalogue"), nb::arg("restart"), nb::arg("role"),
             nb::arg("deferred"), nb::arg("logs"), nb::arg("log").none());
  nb::class_<Held>(module, "Session")
      .def("serve", &Session::serve, Unlocked())
      .def("communicator",
           [](const Held& session) { return pillion_communicator_fortran(session.handle()); })
      .def("fields", &Session::fields)
      .def("share_box", share_box, nb::arg("field"), nb::arg("level"), nb::arg("block"),
           nb::arg("lo"), nb::arg("hi"), nb::arg("data"), nb::arg("type"), nb::arg("strides"))
      .def("begin_blocks", &Session::begin_blocks, nb::arg("field"))
      .def("end_blocks", &Session::end_blocks, nb::arg("field"))
      .def("share_particles", share_particles, nb::arg("field"), nb::arg("block"), nb::arg("count"),
           nb::arg("data"), nb::arg("type"))
      .def("share_elements", share_elements, nb::arg("field"), nb::arg("block"), nb::arg("count"),
           nb::arg("data"), nb::arg("type"))
      .def("share_values", share_values, nb::arg("field"), nb::arg("block"), nb::arg("count"),
           nb::arg("data"), nb::arg("type"))
      .def("share_points", share_points, nb::arg("mesh"), nb::arg("block"), nb::arg("count"),
           nb::arg("data"), nb::arg("stride"), nb::arg("type"), nb::arg("ids"))
      .def("share_cells", share_cells, nb::arg("mesh"), nb::arg("block"), nb::arg("count"),
           nb::arg("type"), nb::arg("index_type"), nb::arg("base"), nb::arg("points_are_ids"),
           nb::arg("face_count"), nb::arg("arrays"))
      .def("share_box_components", share_box_components, nb::arg("field"), nb::arg("level"),
           nb::arg("block"), nb::arg("lo"), nb::arg("hi"), nb::arg("data"), nb::arg("type"),
           nb::arg("strides"))
      .def("share_components", share_components, nb::arg("field"), nb::arg("block"),
           nb::arg("count"), nb::arg("data"), nb::arg("type"), nb::arg("strides"))
      .def("allocate", allocate, nb::arg("field"), nb::arg("block"), nb::arg("bytes"),
           nb::arg("buffers"))
      .def("swap", swap, nb::arg("field"), nb::arg("block"))
      .def("array", array_of, nb::arg("data"), nb::arg("shape"), nb::arg("strides"),
           nb::arg("type"),
           nb::sig("def array(self, data: int, shape: collections.abc.Sequence[int], "
                   "strides: collections.abc.Sequence[int], type: int) -> typing.Any"))
      .def("unshare", &Session::unshare, nb::arg("field"), nb::arg("block"))
      .def("set_domain", set_domain, nb::arg("mesh"), nb::arg("lo"), nb::arg("hi"), nb::arg("tilt"),
           nb::arg("periodic"), nb::arg("dimensions"))
      .def("set_coordinates", set_coordinates, nb::arg("mesh"), nb::arg("axis"), nb::arg("values"))
      .def("set_parameter", [](Held& session, const std::string& name,
                               const std::string& value) { session.set_parameter(name, value); })
      .def("offer_catalogue", &Session::offer_catalogue, nb::arg("yaml"))
      .def("configure", &Session::configure, Unlocked())
      .def("set_scalar", &Session::set_scalar, nb::arg("name"), nb::arg("value"))
      .def("set_units", &Session::set_units, nb::arg("name"), nb::arg("units"))
      .def("ready", &Session::ready, Unlocked())
      .def("is_due", &Session::is_due, nb::arg("step"), nb::arg("time"))
      .def("step", &Session::step, nb::arg("step"), nb::arg("time"), Unlocked())
      .def("checkpoint", &Session::checkpoint, nb::arg("path"), Unlocked())
      .def("progress", progress_of)
      .def("report_path", &Session::report_path)
      .def("close", &Session::close, Unlocked())
      .def("is_open", &Session::is_open);
}

}  // namespace pillion::python
