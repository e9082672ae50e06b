// SPDX-License-Identifier: BSD-3-Clause
// For simulations in C++: open a Session, let sidecar ranks serve, share blocks of fields, offer
// steps. Everything here is inline over the C interface of pillion.h, so that the library and the
// program may come from different compilers, and so that the header of no-ops serves both. C++17.
//
// A call that fails throws pillion::Error. A session belongs to one rank and one thread.
// [collective] means that every simulation rank must make the call.
#pragma once

#include <pillion/pillion.h>

#include <array>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <memory>
#include <pillion/arrays.hpp>
#include <pillion/cells.hpp>
#include <pillion/error.hpp>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace pillion {

using Domain = pillion_domain;
using Progress = pillion_progress;

/// What a rank may become.
enum class Role : int32_t {
  Any = PILLION_ROLE_ANY,
  Simulation = PILLION_ROLE_SIMULATION,
  Sidecar = PILLION_ROLE_SIDECAR
};

/// Severity of a log message.
enum class LogLevel : int32_t {
  Debug = PILLION_LOG_DEBUG,
  Info = PILLION_LOG_INFO,
  Warning = PILLION_LOG_WARNING,
  Error = PILLION_LOG_ERROR
};

/// For declarations of templates: T is a number, and not a truth value.
template <class T>
using if_number = std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, int>;

/// Number of a block that Pillion is to number, between begin_blocks() and end_blocks().
inline constexpr int32_t any_block = PILLION_ANY_BLOCK;

/// A field of the catalogue, and the mesh that it lives on.
struct Field {
  std::string name;
  std::string mesh;
  pillion_mesh_kind mesh_kind;
  pillion_type type;
  int32_t components;
  int32_t axes;                  ///< of a uniform mesh; 2 of flat spectral elements; of others 0
  std::array<int64_t, 3> cells;  ///< of a uniform mesh, 1 beyond its axes; of others 0
  bool used;                     ///< by an analysis or a condition, so that it must be shared
  int32_t order = 0;             ///< at the points of a spectral mesh, its order; of others 0
  int32_t levels = 1;       ///< of refinement of a uniform mesh, whose cells are the coarsest's
  bool is_partial = false;  ///< cells of a uniform mesh may be missing
  pillion_centering centering = 0;  ///< where the mesh has its values; 0 of particles
  int32_t point_axes = 0;           ///< bit d: arrays have one value more than cells along axis d
  bool is_constant = false;         ///< values never change
  std::string units{};

  /// Values in one cell, particle or element.
  [[nodiscard]] int64_t values() const {
    const int64_t points = order + 1;
    return components * points * points * (mesh_kind == PILLION_SPECTRAL && axes == 2 ? 1 : points);
  }
};

/// How a session is opened. A plain value: it may be copied, and may go once the session is open.
class Options {
 public:
  using Log = std::function<void(LogLevel, const std::string& message)>;

  /// Value of `$name` in the YAML file.
  Options& set(const std::string& name, const std::string& value) {
    parameters_.emplace_back(name, value);
    return *this;
  }
  template <class T, if_number<T> = 0>
  Options& set(const std::string& name, T value) {
    return set(name, text_of(value));
  }
  /// Role that this rank insists on; by default the session chooses.
  Options& role(Role role) {
    role_ = role;
    return *this;
  }
  /// YAML text with `meshes:`, `fields:` and `scalars:` that the program offers; entries of the
  /// user's file win.
  Options& catalogue(const std::string& yaml) {
    catalogue_ = yaml;
    return *this;
  }
  /// Puts YAML in the place of what the file says at a key such as "output" or
  /// "sidecars.when_full"; "null" takes the entry out.
  Options& override_entry(const std::string& key, const std::string& yaml) {
    overrides_.emplace_back(key, yaml);
    return *this;
  }
  /// Directory of a checkpoint to resume from; overrides `restart` of the YAML file.
  Options& restart(const std::string& path) {
    restart_ = path;
    return *this;
  }
  /// Opens the session in two phases, on all ranks: opening only chooses the sidecars and gives the
  /// communicator. The program reads its inputs with that, and calls Session::configure.
  Options& deferred() {
    deferred_ = true;
    return *this;
  }
  /// Who receives log messages, instead of standard error. An empty function is silence. What it
  /// throws is lost.
  Options& log(Log log) {
    log_ = std::make_shared<Log>(std::move(log));
    return *this;
  }

 private:
  friend class Session;
  template <class T>
  static std::string text_of(T value) {
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return std::string(digits.data(), end);
  }
  std::vector<std::pair<std::string, std::string>> parameters_;
  std::vector<std::pair<std::string, std::string>> overrides_;
  Role role_ = Role::Any;
  std::string catalogue_;
  std::string restart_;
  bool deferred_ = false;
  std::shared_ptr<Log> log_;
};

/// One rank's connection, from open to close.
class Session {
 public:
  /// Opens a session from a YAML file. [collective over comm] Every rank of `comm` throws, or none.
  [[nodiscard]] static Session open(const std::string& file, MPI_Comm comm,
                                    const Options& options = {});

  Session(Session&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), log_(std::move(other.log_)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(log_, other.log_);
    return *this;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Closes the session, and says nothing of a failure: call close() to hear of it. [collective]
  ~Session() { static_cast<void>(pillion_close(handle_)); }

  /// On a sidecar rank: works until the simulation closes its session, and returns true; this
  /// session is closed then. On a simulation rank: returns false at once.
  bool serve() {
    if (pillion_serve(open_handle()) == 0) return false;
    handle_ = nullptr;
    return true;
  }

  // The second phase of a session whose options were deferred. Parameters and catalogue must be the
  // same on every rank.

  /// Value of `$name` in the YAML file; not for `sidecars:`, which has been read.
  void set_parameter(const std::string& name, const std::string& value) {
    check(pillion_set_parameter(open_handle(), name.c_str(), value.c_str()));
  }
  template <class T, if_number<T> = 0>
  void set_parameter(const std::string& name, T value) {
    set_parameter(name, Options::text_of(value));
  }
  /// As Options::catalogue, in the place of that.
  void offer_catalogue(const std::string& yaml) {
    check(pillion_offer_catalogue(open_handle(), yaml.c_str()));
  }
  /// Completes the opening; ready() and the first step do it otherwise. [collective] Every rank
  /// throws, or none.
  void configure() { check(pillion_configure(open_handle())); }

  /// Communicator of the simulation ranks, which may be used until MPI_Finalize, also after the
  /// session has closed; MPI_COMM_NULL on a sidecar.
  [[nodiscard]] MPI_Comm communicator() const { return pillion_communicator(open_handle()); }

  /// The fields of the catalogue as the file has them, for programs that do not know, or need not
  /// prepare, every one.
  [[nodiscard]] std::vector<Field> fields() const {
    int32_t count = 0;
    check(pillion_count_fields(open_handle(), &count));
    std::vector<Field> out;
    for (int32_t f = 0; f < count; ++f) {
      pillion_field field{};
      check(pillion_get_field(open_handle(), f, &field));
      out.push_back({field.name,
                     field.mesh,
                     field.mesh_kind,
                     field.type,
                     field.components,
                     field.axes,
                     {field.cells[0], field.cells[1], field.cells[2]},
                     field.used != 0,
                     field.order,
                     field.levels,
                     field.is_partial != 0,
                     field.centering,
                     field.point_axes,
                     field.is_constant != 0,
                     field.units});
    }
    return out;
  }

  /// The names of the scalars of the catalogue.
  [[nodiscard]] std::vector<std::string> scalars() const {
    int32_t count = 0;
    check(pillion_count_scalars(open_handle(), &count));
    std::vector<std::string> out;
    for (int32_t n = 0; n < count; ++n) {
      const char* name = nullptr;
      check(pillion_get_scalar_name(open_handle(), n, &name));
      out.emplace_back(name);
    }
    return out;
  }

  /// Whether an analysis or a condition uses a field, those of attached jobs included, so that a
  /// program need not prepare and share it otherwise. May change at each step, on all ranks at
  /// once.
  [[nodiscard]] bool uses(const std::string& name) const {
    int32_t count = 0;
    check(pillion_count_fields(open_handle(), &count));
    for (int32_t f = 0; f < count; ++f) {
      pillion_field field{};
      check(pillion_get_field(open_handle(), f, &field));
      if (name == field.name) return field.used != 0;
    }
    return false;
  }

  /// Shares a box of a field on a uniform mesh; the first axis varies fastest, components are
  /// interleaved. Nothing is copied: the memory must stay where it is until the block is shared
  /// again, unshared, or the session closes. Throws if the range is not a whole multiple of the
  /// box.
  template <class R, if_shareable<R> = 0>
  void share(const std::string& field, R&& values, const Box& box, int32_t block = 0) {
    expect_multiple(field, std::size(values), box.cells());
    share(field, std::data(values), box, block);
  }
  template <class T, if_element<T> = 0>
  void share(const std::string& field, const T* data, const Box& box, int32_t block = 0) {
    check(pillion_share_box_level(open_handle(), field.c_str(), box.level, block, box.lo.data(),
                                  box.hi.data(), data, element_type<T>(), nullptr));
  }
  /// As above for any arrangement; `data` is the element at box.lo. strides[a] is the distance in
  /// elements from one index to the next along axis a. The last stride is that between components.
  template <class T, if_element<T> = 0>
  void share_strided(const std::string& field, const T* data, const Box& box,
                     Span<const int64_t> strides, int32_t block = 0) {
    if (strides.size() != box.axes + 1)
      throw Error(ErrorCode::Argument, "field '" + field + "' was shared with " +
                                           std::to_string(strides.size()) + " strides; give " +
                                           std::to_string(box.axes + 1) +
                                           ", one per axis and one for components");
    check(pillion_share_box_level(open_handle(), field.c_str(), box.level, block, box.lo.data(),
                                  box.hi.data(), data, element_type<T>(), strides.data()));
  }
  /// Shares an array that has ghost cells around the box of a field: `ghosts[a]` at both ends of
  /// axis a. `data` is the array's first element, and `box` has its inner cells. Ghost cells are
  /// not published. The first axis varies fastest, components are interleaved.
  template <class T, if_element<T> = 0>
  void share_ghosts(const std::string& field, const T* data, const Box& box,
                    Span<const int64_t> ghosts, int32_t block = 0) {
    if (ghosts.size() != box.axes)
      throw Error(ErrorCode::Argument, "field '" + field + "' was shared with " +
                                           std::to_string(ghosts.size()) +
                                           " widths of ghost cells; give " +
                                           std::to_string(box.axes) + ", one per axis");
    check(pillion_share_box_ghosts(open_handle(), field.c_str(), box.level, block, box.lo.data(),
                                   box.hi.data(), ghosts.data(), data, element_type<T>()));
  }
  /// The same with as many ghost cells along each axis.
  template <class T, if_element<T> = 0>
  void share_ghosts(const std::string& field, const T* data, const Box& box, int64_t ghosts,
                    int32_t block = 0) {
    const std::array<int64_t, 3> all{ghosts, ghosts, ghosts};
    share_ghosts(field, data, box, Span<const int64_t>(all).first(box.axes), block);
  }

  /// Shares `count` particles' values of a field, components interleaved; as for share, nothing is
  /// copied. Throws if the range is not a whole multiple of the count; of arrays that are longer
  /// than what they hold, share a pointer.
  template <class R, if_shareable<R> = 0>
  void share_particles(const std::string& field, R&& values, int64_t count, int32_t block = 0) {
    expect_multiple(field, std::size(values), count);
    share_particles(field, std::data(values), count, block);
  }
  template <class T, if_element<T> = 0>
  void share_particles(const std::string& field, const T* data, int64_t count, int32_t block = 0) {
    check(pillion_share_particles_typed(open_handle(), field.c_str(), block, count, data,
                                        element_type<T>()));
  }
  /// Shares a field of `count` elements of a spectral mesh, as pillion_share_elements_typed
  /// arranges it. A field at points is data[e][c][k][j][i], one centred on elements data[e][c].
  template <class R, if_shareable<R> = 0>
  void share_elements(const std::string& field, R&& values, int64_t count, int32_t block = 0) {
    expect_multiple(field, std::size(values), count);
    share_elements(field, std::data(values), count, block);
  }
  template <class T, if_element<T> = 0>
  void share_elements(const std::string& field, const T* data, int64_t count, int32_t block = 0) {
    check(pillion_share_elements_typed(open_handle(), field.c_str(), block, count, data,
                                       element_type<T>()));
  }

  /// Shares the points of a block of an unstructured mesh: coordinates of `count` points, those of
  /// a point together, and their ids in the whole mesh if there are any. They are copied;
  /// share them again when they move. Throws unless each point has 1 to 3 coordinates.
  template <class R, if_shareable<R> = 0>
  void share_points(const std::string& mesh, R&& coordinates, int64_t count, int32_t block = 0,
                    Span<const int64_t> ids = {}) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(coordinates))>>;
    const auto size = static_cast<int64_t>(std::size(coordinates));
    if (count < 0 || size > 3 * count || (size > 0 && size % count != 0) || size < count)
      throw Error(ErrorCode::Argument, "points of mesh '" + mesh + "' were shared with " +
                                           std::to_string(size) +
                                           " coordinates; give 1 to 3 for each of the " +
                                           std::to_string(count) + " points");
    if (!ids.empty() && static_cast<int64_t>(ids.size()) != count)
      throw Error(ErrorCode::Argument, "points of mesh '" + mesh + "' were shared with " +
                                           std::to_string(ids.size()) + " ids; give " +
                                           std::to_string(count));
    pillion_points points{};
    points.count = count;
    points.data[0] = std::data(coordinates);
    points.stride = count > 0 ? size / count : 0;
    points.type = element_type<T>();
    points.dimensions = static_cast<int32_t>(points.stride);
    points.ids = ids.empty() ? nullptr : ids.data();
    share_points(mesh, points, block);
  }
  /// As above for any arrangement; the struct's size need not be set.
  void share_points(const std::string& mesh, pillion_points points, int32_t block = 0) {
    points.size = sizeof points;
    check(pillion_share_points(open_handle(), mesh.c_str(), block, &points));
  }
  /// Shares the cells of a block of an unstructured mesh. They are copied. Throws if the lengths of
  /// the ranges contradict each other.
  template <class Index>
  void share_cells(const std::string& mesh, const Cells<Index>& cells, int32_t block = 0) {
    share_cells(mesh, cells.raw(mesh), block);
  }
  void share_cells(const std::string& mesh, pillion_cells cells, int32_t block = 0) {
    cells.size = sizeof cells;
    check(pillion_share_cells(open_handle(), mesh.c_str(), block, &cells));
  }
  /// Shares a field's values at the `count` cells or points of a block of an unstructured mesh, as
  /// its centering says; components are interleaved. As for share, nothing is copied. Throws if the
  /// range is not a whole multiple of the count.
  template <class R, if_shareable<R> = 0>
  void share_values(const std::string& field, R&& values, int64_t count, int32_t block = 0) {
    expect_multiple(field, std::size(values), count);
    share_values(field, std::data(values), count, block);
  }
  template <class T, if_element<T> = 0>
  void share_values(const std::string& field, const T* data, int64_t count, int32_t block = 0) {
    check(pillion_share_values_typed(open_handle(), field.c_str(), block, count, data,
                                     element_type<T>()));
  }

  /// Shares a box of a field whose components lie in arrays of their own, one for each:
  /// share_components("velocity", {vx, vy, vz}, box). `strides` are in elements, within each array:
  /// one per axis; of packed arrays none.
  template <class T, if_element<T> = 0>
  void share_components(const std::string& field, std::initializer_list<const T*> data,
                        const Box& box, int32_t block = 0, Span<const int64_t> strides = {}) {
    share_components(field, std::vector<const T*>(data), box, block, strides);
  }
  template <class T, if_element<T> = 0>
  void share_components(const std::string& field, const std::vector<const T*>& data, const Box& box,
                        int32_t block = 0, Span<const int64_t> strides = {}) {
    expect_strides(field, strides, box.axes);
    const std::vector<const void*> all(data.begin(), data.end());
    const auto arrays = arrays_of(all, element_type<T>(), strides);
    check(pillion_share_box_components(open_handle(), field.c_str(), box.level, block,
                                       box.lo.data(), box.hi.data(), &arrays));
  }
  /// The same for `count` particles, with a stride from one to the next. For elements of a spectral
  /// mesh there are two: from one to the next, and from one of its points to the next.
  template <class T, if_element<T> = 0>
  void share_components(const std::string& field, std::initializer_list<const T*> data,
                        int64_t count, int32_t block = 0, Span<const int64_t> strides = {}) {
    share_components(field, std::vector<const T*>(data), count, block, strides);
  }
  template <class T, if_element<T> = 0>
  void share_components(const std::string& field, const std::vector<const T*>& data, int64_t count,
                        int32_t block = 0, Span<const int64_t> strides = {}) {
    const std::vector<const void*> all(data.begin(), data.end());
    const std::array<int64_t, 2> two{strides.empty() ? 0 : strides[0],
                                     strides.size() > 1 ? strides[1] : 1};
    const auto arrays = arrays_of(all, element_type<T>(), two);
    const auto packed = arrays_of(all, element_type<T>(), {});
    check(pillion_share_components(open_handle(), field.c_str(), block, count,
                                   strides.empty() ? &packed : &arrays));
  }

  /// Memory for `count` elements of a block, components included: `buffers` buffers that take
  /// turns; returns the first one; share it as any other memory. Where a sidecar is on this node it
  /// reads them in place, if the block has no gaps. What is in them at first is not defined. They
  /// are the session's, gone with unshare() or the session.
  template <class T, if_element<T> = 0>
  [[nodiscard]] T* allocate(const std::string& field, int32_t block, size_t count,
                            int32_t buffers = 2) {
    void* data = nullptr;
    check(pillion_allocate(open_handle(), field.c_str(), block, count * sizeof(T), buffers, &data));
    return static_cast<T*>(data);
  }
  /// The same for a box with `components` values in each cell, which is shared at once.
  template <class T, if_element<T> = 0>
  [[nodiscard]] Span<T> allocate_box(const std::string& field, const Box& box,
                                     size_t components = 1, int32_t block = 0,
                                     int32_t buffers = 2) {
    const Span<T> values(
        allocate<T>(field, block, static_cast<size_t>(box.cells()) * components, buffers),
        static_cast<size_t>(box.cells()) * components);
    share(field, values.data(), box, block);
    return values;
  }
  /// The next buffer of a block, which no sidecar reads, to write the next step's values to; it is
  /// shared in the place of the one before. Never waits. T must be that of allocate().
  template <class T, if_element<T> = 0>
  [[nodiscard]] T* swap(const std::string& field, int32_t block = 0) {
    void* data = nullptr;
    check(pillion_swap(open_handle(), field.c_str(), block, &data));
    return static_cast<T*>(data);
  }
  /// Takes a block of a field back, and the memory that allocate() gave for it.
  void unshare(const std::string& field, int32_t block = 0) {
    check(pillion_unshare(open_handle(), field.c_str(), block));
  }

  /// From here to end_blocks() the program shares all blocks of a field again, as after a
  /// regridding. The end takes back every block that was not shared since, and the memory that
  /// allocate() gave for it. Between the two, a block may have the number any_block.
  void begin_blocks(const std::string& field) {
    check(pillion_begin_blocks(open_handle(), field.c_str()));
  }
  void end_blocks(const std::string& field) {
    check(pillion_end_blocks(open_handle(), field.c_str()));
  }

  /// The domain of a particle mesh as of now. The same on every rank.
  void set_domain(const std::string& mesh, const Domain& domain) {
    check(pillion_set_domain(open_handle(), mesh.c_str(), &domain));
  }
  /// Coordinates of the faces of a rectilinear mesh along one axis, counted from 0, as of now: one
  /// more than cells, ascending. The same on every rank.
  void set_coordinates(const std::string& mesh, int32_t axis, Span<const double> values) {
    check(pillion_set_coordinates(open_handle(), mesh.c_str(), axis,
                                  static_cast<int64_t>(values.size()), values.data()));
  }
  /// A scalar of the catalogue as of now; it keeps its value until it is set again. The same on
  /// every rank.
  void set_scalar(const std::string& name, double value) {
    check(pillion_set_scalar(open_handle(), name.c_str(), value));
  }
  /// Units of a field, of a mesh's lengths, of a scalar, or of "time". The same on every rank.
  void set_units(const std::string& name, const std::string& units) {
    check(pillion_set_units(open_handle(), name.c_str(), units.c_str()));
  }
  /// Checks that all that analyses need is shared and fits; the first step does it otherwise.
  /// [collective] Every rank throws, or none.
  void ready() { check(pillion_ready(open_handle())); }

  /// Whether the step would do anything, for programs that prepare what they share only then.
  [[nodiscard]] bool is_due(int64_t step, double time) const {
    int32_t due = 0;
    check(pillion_is_due(open_handle(), step, time, &due));
    return due != 0;
  }
  /// Offers a step: runs or publishes what is due, and returns at once if nothing is. [collective]
  void step(int64_t step, double time) { check(pillion_step(open_handle(), step, time)); }
  /// Saves the state of stages in the directory `path`, whole or not at all. [collective]
  void checkpoint(const std::string& path) {
    check(pillion_checkpoint(open_handle(), path.c_str()));
  }

  /// How the run is doing, as this rank knows it without asking anyone.
  [[nodiscard]] Progress progress() const {
    Progress progress{};
    check(pillion_get_progress(open_handle(), &progress));
    return progress;
  }
  /// Path of the run report, which is there after close(); "" if there will be none.
  [[nodiscard]] std::string report_path() const { return pillion_report_path(open_handle()); }

  /// Waits until sidecars have finished and writes the last products and the report. [collective]
  /// Closing twice is allowed.
  void close() { check(pillion_close(std::exchange(handle_, nullptr))); }
  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }

  /// The C handle, for what this class does not offer; still owned by the session.
  [[nodiscard]] pillion_session* handle() const noexcept { return handle_; }

 private:
  explicit Session(std::shared_ptr<Options::Log> log) : log_(std::move(log)) {}

  static void check(pillion_status status) {
    if (status != PILLION_OK) throw Error(static_cast<ErrorCode>(status), pillion_error_message());
  }
  static pillion_arrays arrays_of(const std::vector<const void*>& data, pillion_type type,
                                  Span<const int64_t> strides) {
    return {sizeof(pillion_arrays), data.data(), type, static_cast<int32_t>(data.size()),
            strides.empty() ? nullptr : strides.data()};
  }
  static void expect_strides(const std::string& field, Span<const int64_t> strides, size_t wanted) {
    if (strides.empty() || strides.size() == wanted) return;
    throw Error(ErrorCode::Argument, "components of field '" + field + "' were shared with " +
                                         std::to_string(strides.size()) + " strides; give " +
                                         std::to_string(wanted) + ", one per axis, or none");
  }
  static void expect_multiple(const std::string& field, size_t size, int64_t of) {
    const bool fits = of > 0 ? size % static_cast<size_t>(of) == 0 : of == 0;
    if (!fits)
      throw Error(ErrorCode::Argument,
                  "field '" + field + "' was shared with " + std::to_string(size) +
                      " values, which is not a whole multiple of the " + std::to_string(of) +
                      " cells, particles, elements or points of the block");
  }
  static void forward_log(void* context, int32_t level, const char* message) noexcept {
    try {
      const auto& log = *static_cast<const Options::Log*>(context);
      if (log) log(static_cast<LogLevel>(level), message);
    } catch (...) {  // a log must not end a simulation
    }
  }
  [[nodiscard]] pillion_session* open_handle() const {
    if (handle_ == nullptr) throw Error(ErrorCode::State, "the session is closed");
    return handle_;
  }

  pillion_session* handle_ = nullptr;
  std::shared_ptr<Options::Log> log_;  // the C session points at it
};

inline Session Session::open(const std::string& file, MPI_Comm comm, const Options& options) {
  pillion_options* raw = nullptr;
  check(pillion_options_create(&raw));
  const std::unique_ptr<pillion_options, decltype(&pillion_options_free)> owner(
      raw, &pillion_options_free);
  for (const auto& [name, value] : options.parameters_)
    check(pillion_options_set(raw, name.c_str(), value.c_str()));
  for (const auto& [key, yaml] : options.overrides_)
    check(pillion_options_override(raw, key.c_str(), yaml.c_str()));
  check(pillion_options_set_role(raw, static_cast<pillion_role>(options.role_)));
  if (!options.catalogue_.empty())
    check(pillion_options_set_catalogue(raw, options.catalogue_.c_str()));
  if (!options.restart_.empty()) check(pillion_options_set_restart(raw, options.restart_.c_str()));
  if (options.deferred_) check(pillion_options_set_deferred(raw));
  if (options.log_) check(pillion_options_set_log(raw, &forward_log, options.log_.get()));
  Session session(options.log_);
  check(pillion_open_with(file.c_str(), comm, raw, &session.handle_));
  return session;
}

/// "MAJOR.MINOR.PATCH" of the library that is running.
inline std::string version() { return pillion_version(); }

}  // namespace pillion
