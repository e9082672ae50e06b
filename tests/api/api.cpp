// SPDX-License-Identifier: BSD-3-Clause
// The C++ interface as a simulation uses it, compiled with the library and with the header of
// no-ops and asserting the same of both: vectors, spans, arrays and pointers are shared, types are
// deduced, memory of the session rotates, misuse throws, and a session can be moved but closes
// once. As C++17 with the no-ops, as C++20 with the library.
#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <pillion/session.hpp>
#if __cplusplus >= 202002L
#include <span>
#endif
#include <string>
#include <type_traits>
#include <vector>

#include "check.h"

namespace {

constexpr int64_t kSteps = 12;
constexpr bool kEnabled = PILLION_ENABLED == 1;

static_assert(!std::is_copy_constructible_v<pillion::Session>);
static_assert(std::is_nothrow_move_constructible_v<pillion::Session>);
static_assert(pillion::element_type<long long>() == PILLION_INT64);
static_assert(pillion::element_type<unsigned>() == PILLION_UINT32);
static_assert(pillion::element_type<bool>() == PILLION_UINT8);
static_assert(pillion::element_type<int16_t>() == PILLION_INT16);
static_assert(!pillion::is_element<char> && !pillion::is_element<long double>);
static_assert(pillion::is_shareable<std::vector<float>&>);
static_assert(pillion::is_shareable<const std::array<int, 4>&>);
static_assert(pillion::is_shareable<double (&)[4]>);
static_assert(pillion::is_shareable<pillion::Span<const double>>);
static_assert(pillion::is_shareable<pillion::Span<float>>);
static_assert(!pillion::is_shareable<std::vector<float>>, "a temporary's memory would be gone");
static_assert(!pillion::is_shareable<std::array<float, 4>>, "as would this one's");
static_assert(!pillion::is_shareable<std::string&> && !pillion::is_shareable<double&>);
static_assert(pillion::SourceLocation::current().line() == __LINE__);
static_assert(std::is_convertible_v<std::vector<double>&, pillion::Span<const double>>);
static_assert(!std::is_convertible_v<const std::vector<double>&, pillion::Span<double>>);
static_assert(!std::is_convertible_v<std::vector<float>&, pillion::Span<const double>>);
#if __cplusplus >= 202002L
static_assert(pillion::is_shareable<std::span<const double>>);
static_assert(std::is_convertible_v<std::span<double>, pillion::Span<const double>>);
static_assert(std::is_convertible_v<pillion::Span<const double>, std::span<const double>>);
static_assert(std::is_constructible_v<std::span<double>, pillion::Span<double>&>);
#endif

/// Code of the Error that f throws; Internal if it throws none.
template <class F>
pillion::ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const pillion::Error& error) {
    return error.code();
  }
  return pillion::ErrorCode::Internal;
}

/// A slab of the 4 × 3 × 8 grid, and particles.
struct Simulation {
  explicit Simulation(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    lo = 8 * rank / ranks;
    hi = 8 * (rank + 1) / ranks;
    density.resize(static_cast<size_t>(12 * (hi - lo)));
    velocity.resize(3 * density.size());
  }
  [[nodiscard]] pillion::Box box() const { return pillion::Box({0, 0, lo}, {4, 3, hi}); }
  /// The number of particles changes, and with it the place of their memory.
  void advance(int64_t step) {
    std::iota(density.begin(), density.end(), static_cast<double>(step));
    const auto count = static_cast<size_t>(rank % 2 == 1 && step % 2 == 0 ? 0 : step + 1);
    position.assign(3 * count, 0.25);
    id.resize(count);
    std::iota(id.begin(), id.end(), 100 * rank);
  }
  int rank = 0, ranks = 1;
  int64_t lo = 0, hi = 0;
  std::vector<double> density, position;
  std::vector<float> velocity;
  std::vector<int64_t> id;
};

constexpr auto kCatalogue = R"(
meshes:
  atoms: {kind: particles, units: m}
  hexahedra: {kind: spectral, order: 1}
  solid: {kind: unstructured, units: m}
fields:
  position: {mesh: atoms, type: float64, components: 3, units: m}
  id: {mesh: atoms, type: int64}
  heat: {mesh: hexahedra, type: float32, components: 2}
  load: {mesh: solid, type: float64}
)";

pillion::Session open(int sidecars, int& warnings) {
  pillion::Options options;
  options.set("sidecars", sidecars)
      .set("output", "unused")
      .override_entry("output", "results")
      .role(pillion::Role::Any);
  options.set("nx", 4).set("ny", int64_t{3}).set("nz", "8").catalogue(kCatalogue);
  options.log([&warnings](pillion::LogLevel level, const std::string&) {
    warnings += level >= pillion::LogLevel::Warning ? 1 : 0;
  });
  return pillion::Session::open("session.yaml", MPI_COMM_WORLD, options);
}

void share_particles(pillion::Session& session, const Simulation& simulation) {
  const auto count = static_cast<int64_t>(simulation.id.size());
  // At some steps as one array for each component, here those of structures.
  const double* const first = simulation.position.data();
  const std::array<int64_t, 1> every_third{3};
  if (count % 2 == 0) session.share_particles("position", simulation.position, count);
  else session.share_components("position", {first, first + 1, first + 2}, count, 0, every_third);
  session.share_particles("id", pillion::Span<const int64_t>(simulation.id), count);
  session.set_domain("atoms", {{0, 0, 0}, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, 0});
  session.set_coordinates("stretched", 0, std::vector<double>{0, 1, 3, 7});
}

/// Every way to share the same memory; the last one counts.
void share_grid(pillion::Session& session, const Simulation& simulation) {
  const auto& velocity = simulation.velocity;
  const auto& density = simulation.density;
  session.share("density", density.data(), simulation.box());
  session.share("density", pillion::Span<const double>(density), simulation.box());
  session.share("density", density, simulation.box());
  session.share_strided("velocity", velocity.data(), simulation.box(),
                        std::array<int64_t, 4>{3, 12, 36, 1});
  session.share("velocity", velocity, simulation.box());
  if (simulation.hi - simulation.lo > 2) {
    const pillion::Box inner({1, 1, simulation.lo + 1}, {3, 2, simulation.hi - 1});
    session.share_ghosts("velocity", velocity.data(), inner, 1);
    session.share_ghosts("velocity", velocity.data(), inner, std::array<int64_t, 3>{1, 1, 1});
  }
  const auto cells = simulation.box().cells();
  const std::vector<const float*> components{velocity.data(), velocity.data() + cells,
                                             velocity.data() + 2 * cells};
  session.share_components("velocity", {velocity.data(), velocity.data(), velocity.data()},
                           simulation.box(), 0, std::array<int64_t, 3>{1, 4, 12});
  session.share_components("velocity", components, simulation.box());
}

/// Memory of the session: what was written stays while the next buffer is filled.
void check_rotation(pillion::Session& session, const Simulation& simulation) {
  const auto count = static_cast<size_t>(simulation.box().cells());
  float* const one = session.allocate<float>("velocity", 3, 3 * count);
  std::fill_n(one, 3 * count, 1.0F);
  float* const two = session.swap<float>("velocity", 3);
  CHECK(two != one);
  std::fill_n(two, 3 * count, 2.0F);
  CHECK(std::all_of(one, one + 3 * count, [](float v) { return v == 1.0F; }));
  CHECK(session.swap<float>("velocity", 3) != two);
  session.unshare("velocity", 3);
  CHECK(code_of([&] { static_cast<void>(session.swap<float>("velocity", 3)); }) ==
        pillion::ErrorCode::State);
}

void check_misuse(pillion::Session& session, const Simulation& simulation) {
  using pillion::ErrorCode;
  const std::vector<double> seven(7);
  const std::array<int64_t, 3> strides{1, 4, 12};
  CHECK(code_of([&] { session.share("density", seven, pillion::Box({0}, {4})); }) ==
        ErrorCode::Argument);
  CHECK(code_of([&] { session.share_particles("position", seven, 2); }) == ErrorCode::Argument);
  CHECK(code_of([&] { session.share_particles("position", seven, -1); }) == ErrorCode::Argument);
  CHECK(code_of([&] { session.share_elements("heat", seven, 2); }) == ErrorCode::Argument);
  CHECK(code_of([&] {
          session.share_components("density", {seven.data()}, pillion::Box({0}, {7}), 0, strides);
        }) == ErrorCode::Argument);
  CHECK(code_of([&] {
          session.share_ghosts("density", seven.data(), simulation.box(),
                               pillion::Span<const int64_t>(strides).first(2), 0);
        }) == ErrorCode::Argument);
  CHECK(code_of([&] {
          session.share_strided("density", seven.data(), simulation.box(), strides);
        }) == ErrorCode::Argument);
}

void check_fields(const pillion::Session& session) {
  const auto fields = session.fields();
  CHECK(fields.size() == (kEnabled ? 6 : 0));
  for (const pillion::Field& field : fields) {
    CHECK(field.used == (field.name != "id" && field.name != "heat" && field.name != "load"));
    CHECK(field.values() == (field.name == "heat" ? 16 : field.components));
    if (field.name != "velocity") continue;
    CHECK(field.mesh == "grid" && field.mesh_kind == PILLION_UNIFORM && field.axes == 3);
    CHECK(field.type == PILLION_FLOAT32 && field.components == 3);
    CHECK((field.cells == std::array<int64_t, 3>{4, 3, 8}));
  }
}

void run_steps(pillion::Session& session, Simulation& simulation) {
  int64_t publications = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    const double time = 0.5 * static_cast<double>(step);
    const bool due = session.is_due(step, time);
    CHECK(due == (kEnabled && (step % 2 == 0 || step % 3 == 0)));
    publications += due ? 1 : 0;
    simulation.advance(step);
    std::copy(simulation.density.begin(), simulation.density.end(),
              session.swap<double>("density"));
    share_particles(session, simulation);
    session.step(step, time);
  }
  const pillion::Progress progress = session.progress();
  CHECK(progress.step == kSteps - 1);
  CHECK(progress.time == 0.5 * (kSteps - 1));
  CHECK(progress.publications == publications);
  CHECK(progress.skipped == 0 && progress.disabled == 0);
}

void run_second_session(MPI_Comm comm) {
  std::array<float, 16> heights{};
  auto session = pillion::Session::open("second.yaml", comm);
  CHECK(!session.serve());
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) session.share("height", heights, pillion::Box({0}, {16}));
  session.step(0, 0.0);
}  // the destructor closes

/// The catalogue comes when the session is there, and a scalar with each step.
void run_in_two_phases(MPI_Comm comm) {
  const std::array<double, 1> height{1};
  auto session = pillion::Session::open("third.yaml", comm, pillion::Options().deferred());
  CHECK(!session.serve());
  int rank = 0;
  MPI_Comm_rank(session.communicator(), &rank);
  if (kEnabled)
    CHECK(code_of([&] { session.share("height", height, pillion::Box({0}, {1})); }) ==
          pillion::ErrorCode::State);
  session.set_parameter("last", 5);
  session.offer_catalogue(
      "meshes: {line: {kind: uniform, cells: [1]}}\n"
      "fields: {height: {mesh: line, type: float64}}\n"
      "scalars: [a]\n");
  session.configure();
  CHECK(session.scalars() ==
        (kEnabled ? std::vector<std::string>{"a"} : std::vector<std::string>{}));
  if (rank == 0) session.share("height", height, pillion::Box({0}, {1}));
  for (int64_t step = 0; step < 3; ++step) {
    session.set_scalar("a", 0.5 * static_cast<double>(step));
    session.step(step, 0.0);
  }
}

/// A tetrahedron and a pyramid, and what they cannot be.
void share_cells(pillion::Session& session) {
  const std::vector<float> points(18);
  const std::array<uint8_t, 2> types{10, 14};
  const std::vector<int64_t> offsets{0, 4, 9}, corners{0, 1, 2, 5, 0, 1, 4, 3, 5};
  const std::vector<double> load{1, 2};
  pillion::Cells<> cells;
  cells.types = types;
  cells.points = corners;
  CHECK(code_of([&] { session.share_cells("solid", cells); }) == pillion::ErrorCode::Argument);
  cells.offsets = offsets;
  CHECK(cells.count() == 2);
  session.share_points("solid", points, 6);
  session.share_cells("solid", cells);
  session.share_values("load", load, 2);
  CHECK(code_of([&] { session.share_values("load", load, 3); }) == pillion::ErrorCode::Argument);
  CHECK(code_of([&] { session.share_points("solid", points, 4); }) == pillion::ErrorCode::Argument);
}

void simulate(pillion::Session& session, int sidecars) {
  int size = 0;
  MPI_Comm_size(session.communicator(), &size);
  CHECK(size == expected_simulation_ranks(kEnabled, sidecars));
  check_fields(session);
  Simulation simulation(session.communicator());
  session.set_units("density", "g/cm^3");
  share_grid(session, simulation);
  check_rotation(session, simulation);
  const auto density = session.allocate_box<double>("density", simulation.box(), 1, 0, 3);
  CHECK(density.size() == simulation.density.size());
  check_misuse(session, simulation);
  simulation.advance(0);
  share_particles(session, simulation);
  session.share_particles("id", static_cast<const int64_t*>(nullptr), 0, 5);
  const std::vector<float> heat(32);
  session.share_elements("heat", heat, 2);
  session.share_elements("heat", heat.data(), 1, 7);
  share_cells(session);
  session.share_components("heat", {heat.data(), heat.data() + 16}, 2);
  session.unshare("id", 5);
  session.ready();
  run_steps(session, simulation);
  run_second_session(session.communicator());
  run_in_two_phases(session.communicator());
  session.checkpoint("checkpoint");
  const std::string report = session.report_path();
  session.close();
  CHECK(!kEnabled || file_exists(report.c_str()));
}

/// A closed session refuses work, but may be closed and destroyed again.
void check_closed(pillion::Session& session) {
  CHECK(!session.is_open() && session.handle() == nullptr);
  CHECK(code_of([&] { session.step(0, 0.0); }) == pillion::ErrorCode::State);
  CHECK(code_of([&] { static_cast<void>(session.communicator()); }) == pillion::ErrorCode::State);
  session.close();
}

void run() {
  int warnings = 0;
  const int sidecars = world_size() > 1 ? 1 : 0;
  auto first = open(sidecars, warnings);
  pillion::Session session = std::move(first);
  CHECK(!first.is_open());  // NOLINT(bugprone-use-after-move): what is left must be closed
  CHECK(session.is_open() && session.handle() != nullptr);
  if (!session.serve()) simulate(session, sidecars);
  check_closed(session);
  CHECK(warnings == 0);
  CHECK(pillion::version() == PILLION_VERSION);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run();
  } catch (const pillion::Error& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int status = agreed_status();
  MPI_Finalize();
  return status;
}
