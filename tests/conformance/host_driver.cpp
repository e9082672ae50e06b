// SPDX-License-Identifier: BSD-3-Clause
// A simulation whose process is not as a library would like to find it. It shares fields on a mesh
// of every kind that some stage needs, with harmless or with extreme values, through one session
// for each configuration file:
//   host_driver WORDS RANKS CONFIGURATION DATA …
// WORDS, with commas between them: `traps` of floating-point exceptions; `rounding` upward; `flush`
// of subnormal numbers; the decimal `comma` of the environment's locale, and of C++ streams;
// `plain` is none of them. RANKS are those of the simulation. DATA: plain, nan, infinite, huge.
// Each call must leave all this as it was.
#include <fenv.h>
#include <mpi.h>
#include <pillion/pillion.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <array>
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <locale>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// A run's number is in every product, whose bytes are to be compared: here all runs have the same.
std::random_device::result_type std::random_device::_M_getval() { return 39; }

namespace {

struct GermanNumbers : std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

void become_host(const std::string& words) {
  const auto is = [&](const char* word) {
    return ("," + words + ",").find(std::string(",") + word + ",") != std::string::npos;
  };
  if (is("comma")) {
    if (std::setlocale(LC_ALL, "") == nullptr || *std::localeconv()->decimal_point != ',')
      throw std::runtime_error("the environment names no locale with a decimal comma");
    std::locale::global(std::locale(std::locale::classic(), new GermanNumbers));
  }
  if (is("rounding")) fesetround(FE_UPWARD);
#if defined(__x86_64__)
  constexpr unsigned flush_to_zero = 0x8000, subnormals_are_zero = 0x0040;
  if (is("flush")) _mm_setcsr(_mm_getcsr() | flush_to_zero | subnormals_are_zero);
#endif
  feclearexcept(FE_ALL_EXCEPT);
  if (is("traps")) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

/// What calls must not change, apart from signals that come and go: flags of exceptions, too.
struct State {
  int traps = fegetexcept(), rounding = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
#if defined(__x86_64__)
  unsigned control = _mm_getcsr();
#else
  unsigned control = 0;
#endif
  std::string locale = std::setlocale(LC_ALL, nullptr);
  locale_t of_thread = uselocale(locale_t{});
  std::array<bool, 3> blocked{}, pending{};
  State() {
    sigset_t mask, waiting;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    sigpending(&waiting);
    constexpr std::array signals{SIGPIPE, SIGXFSZ, SIGFPE};
    for (size_t n = 0; n < signals.size(); ++n) {
      blocked[n] = sigismember(&mask, signals[n]) == 1;
      pending[n] = sigismember(&waiting, signals[n]) == 1;
    }
  }
  bool operator==(const State&) const = default;
};

template <class F>
auto unchanged(const char* what, F&& call) {
  const State before;
  const auto result = call();
  if (!(State() == before))
    throw std::runtime_error(std::string(what) + " has changed the state of the program's thread");
  return result;
}
#define CHECKED(function, ...)                                                         \
  do {                                                                                 \
    if (unchanged(#function, [&] { return function(__VA_ARGS__); }) != PILLION_OK)     \
      throw std::runtime_error(std::string(#function ": ") + pillion_error_message()); \
  } while (false)

/// Pseudo-random, and the same everywhere (SplitMix64).
uint64_t scatter(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Value `at` of field `field` at a step: of order one, positive, and now and then extreme.
double value(const std::string& data, uint64_t field, int64_t step, int64_t at) {
  const auto draw = scatter(field * 1000 + static_cast<uint64_t>(step), static_cast<uint64_t>(at));
  const double usual = 0.5 + static_cast<double>(draw >> 11) * 0x1p-53;
  if (data == "plain") return draw % 101 == 7 ? 1e-310 : usual;
  if (draw % 23 != 5) return usual;
  const bool sign = (draw >> 7 & 1) != 0;
  if (data == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (data == "infinite")
    return sign ? -std::numeric_limits<double>::infinity()
                : std::numeric_limits<double>::infinity();
  return sign ? -1e300 : 1e300;
}

constexpr int64_t steps = 4, side = 16, small_side = 8, atoms = 120, elements = 6, points = 64;

/// One rank's part of everything, made before the process becomes a host of any kind.
struct Fields {
  using Box = std::array<std::array<int64_t, 3>, 2>;
  Box cube{}, coarse{}, fine{};
  int64_t first_atom = 0, last_atom = 0, first_element = 0, last_element = 0;
  struct Step {
    std::vector<double> density, temperature, velocity, heat, finer_heat, position, speed, charge,
        flow;
  };
  std::vector<Step> at;
  std::vector<int32_t> type;
  std::vector<int64_t> id, number;
  std::vector<double> xyz;
};

std::vector<double> values(const std::string& data, uint64_t field, int64_t step, int64_t first,
                           int64_t count) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(value(data, field, step, first + i));
  return out;
}

Fields make_fields(const std::string& data, int rank, int ranks) {
  const auto part = [&](int64_t all, int n) { return all * n / ranks; };
  Fields out;
  out.cube = {{{0, 0, part(side, rank)}, {side, side, part(side, rank + 1)}}};
  out.coarse = {
      {{0, 0, part(small_side, rank)}, {small_side, small_side, part(small_side, rank + 1)}}};
  for (size_t end = 0; end < 2; ++end)
    for (size_t d = 0; d < 3; ++d) out.fine[end][d] = 2 * out.coarse[end][d];
  out.fine[1][0] = small_side;  // half of the domain
  out.first_atom = part(atoms, rank), out.last_atom = part(atoms, rank + 1);
  out.first_element = part(elements, rank), out.last_element = part(elements, rank + 1);
  const auto volume = [](const Fields::Box& b) {
    return (b[1][0] - b[0][0]) * (b[1][1] - b[0][1]) * (b[1][2] - b[0][2]);
  };
  const int64_t mine = out.last_atom - out.first_atom, here = out.last_element - out.first_element;
  for (int64_t i = out.first_atom; i < out.last_atom; ++i) {
    out.id.push_back(i + 1);
    out.type.push_back(static_cast<int32_t>(1 + i % 2));
  }
  for (int64_t e = out.first_element; e < out.last_element; ++e) {
    out.number.push_back(e);
    for (int axis = 0; axis < 3; ++axis)
      for (int64_t p = 0; p < points; ++p) {
        // Gauss-Lobatto points of order 3.
        constexpr std::array<double, 4> nodes{-1, -0.4472135954999579, 0.4472135954999579, 1};
        const auto n = static_cast<size_t>(axis == 0 ? p % 4 : axis == 1 ? p / 4 % 4 : p / 16);
        out.xyz.push_back(0.5 * (nodes[n] + 1) + (axis == 0 ? static_cast<double>(e) : 0));
      }
  }
  for (int64_t s = 0; s < steps; ++s) {
    const auto seed = static_cast<int64_t>(rank);
    const int64_t cells = volume(out.cube), begin = side * side * out.cube[0][2];
    Fields::Step step;
    step.density = values(data, 1, s, begin, cells);
    step.temperature = values(data, 2, s, begin, cells);
    step.velocity = values(data, 3, s, 3 * begin, 3 * cells);
    step.heat = values(data, 4, s, 100000 * seed, volume(out.coarse));
    step.finer_heat = values(data, 5, s, 100000 * seed, volume(out.fine));
    step.position = values("plain", 6, 0, 3 * out.first_atom, 3 * mine);
    for (double& x : step.position) x = x < 0.5 ? 0.5 : x - 0.4 + 0.01 * static_cast<double>(s);
    step.speed = values(data, 7, s, 3 * out.first_atom, 3 * mine);
    step.charge = values(data, 8, s, out.first_atom, mine);
    step.flow = values(data, 9, s, 3 * points * out.first_element, 3 * points * here);
    out.at.push_back(std::move(step));
  }
  return out;
}

void share_box(pillion_session* session, const char* field, int32_t level, int32_t block,
               const Fields::Box& box, const std::vector<double>& data) {
  CHECKED(pillion_share_box_level, session, field, level, block, box[0].data(), box[1].data(),
          data.data(), PILLION_FLOAT64, nullptr);
}

void share(pillion_session* session, Fields& mine, size_t step) {
  auto& now = mine.at[step];
  share_box(session, "density", 0, 0, mine.cube, now.density);
  share_box(session, "temperature", 0, 0, mine.cube, now.temperature);
  share_box(session, "velocity", 0, 0, mine.cube, now.velocity);
  share_box(session, "heat", 0, 0, mine.coarse, now.heat);
  share_box(session, "heat", 1, 1, mine.fine, now.finer_heat);
  const auto count = mine.last_atom - mine.first_atom;
  const auto of_atoms = [&](const char* field, const void* data, pillion_type type) {
    CHECKED(pillion_share_particles_typed, session, field, 0, count, data, type);
  };
  of_atoms("position", now.position.data(), PILLION_FLOAT64);
  of_atoms("speed", now.speed.data(), PILLION_FLOAT64);
  of_atoms("charge", now.charge.data(), PILLION_FLOAT64);
  of_atoms("type", mine.type.data(), PILLION_INT32);
  of_atoms("id", mine.id.data(), PILLION_INT64);
  const auto of_elements = [&](const char* field, const void* data, pillion_type type) {
    CHECKED(pillion_share_elements_typed, session, field, 0, mine.last_element - mine.first_element,
            data, type);
  };
  of_elements("xyz", mine.xyz.data(), PILLION_FLOAT64);
  of_elements("flow", now.flow.data(), PILLION_FLOAT64);
  of_elements("number", mine.number.data(), PILLION_INT64);
}

/// Everything is known before: the arithmetic here is the host's.
void play(const std::string& file, std::vector<Fields>& of_ranks) {
  constexpr std::array<double, steps> times{0, 0.5, 1, 1.5};
  pillion_session* session = nullptr;
  CHECKED(pillion_open, file.c_str(), MPI_COMM_WORLD, &session);
  if (unchanged("pillion_serve", [&] { return pillion_serve(session); }) != 0) return;
  int rank = 0;
  MPI_Comm_rank(pillion_communicator(session), &rank);
  pillion_domain domain{};
  for (int d = 0; d < 3; ++d) domain.hi[d] = domain.periodic[d] = 1;
  CHECKED(pillion_set_domain, session, "atoms", &domain);
  CHECKED(pillion_set_scalar, session, "load", 1.25);
  for (size_t s = 0; s < steps; ++s) {
    share(session, of_ranks[static_cast<size_t>(rank)], s);
    CHECKED(pillion_step, session, static_cast<int64_t>(10 * s), times[s]);
    CHECKED(pillion_step, session, static_cast<int64_t>(10 * s + 1), times[s] + 0.25);
  }
  CHECKED(pillion_close, session);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int world = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    std::vector<std::vector<Fields>> fields;  // by session and number of simulation ranks
    const int simulating = std::stoi(argv[2]);
    for (int n = 3; n + 1 < argc; n += 2) {
      auto& of_ranks = fields.emplace_back();
      for (int r = 0; r < simulating; ++r)
        of_ranks.push_back(make_fields(argv[n + 1], r, simulating));
    }
    become_host(argv[1]);
    for (int n = 3; n + 1 < argc; n += 2) play(argv[n], fields[static_cast<size_t>(n / 2 - 1)]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "driver rank %d: %s\n", world, e.what());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (world == 0) std::puts("solver ended well");
  MPI_Finalize();
}
