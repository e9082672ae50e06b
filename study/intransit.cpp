// SPDX-License-Identifier: BSD-3-Clause
// One point of the study of analyses in transit: so many steps of a simulation with halos and a
// spectrum of its density every few of them, on ranks of their own or, if there are none, on the
// simulation's. Steps and analyses are models (work.hpp). Between the two sides data move by the
// library's plans, with the messages of its network transport where a thread moves them: a header
// to one sidecar, parts to those that work on them, receives posted for two publications ahead, one
// reduction among sidecars for each, and answers for which nobody waits. Prints one line of JSON;
// times are simulated. Run it by intransit.sh.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "comm/message.hpp"
#include "simulated.hpp"
#include "work.hpp"

namespace {

using namespace pillion;
using namespace study;
using layout::Wanted;

constexpr double bytes_per_cell = 8;
constexpr int values_tag = 40, finished_tag = 41, header_tag = 42;
constexpr int room = 2;   // publications under way
constexpr int ahead = 2;  // publications for which receives are posted
constexpr size_t header_bytes = 512;
constexpr int agreed_words = 72;  // that sidecars reduce for each message

struct Case {
  int64_t cells;
  int simulation, analysis, every, steps;
  Kernels kernels;
  [[nodiscard]] int publications() const { return steps / every; }
  [[nodiscard]] Box domain() const { return {{0, 0, 0}, {cells, cells, cells}}; }
};

/// What one rank found: seconds, or instants since the beginning.
struct Found {
  double step = 0;  ///< before anything was published
  double publishing = 0, waiting = 0;
  double analysing = 0;  ///< in all publications: from boxes to layouts, and the two analyses
  double carrying = 0, halos = 0, spectrum = 0;
  std::vector<double> finished{};
  double end = 0;
};

// Common to all ranks: each writes its own.
std::vector<Found> found;

using Memory = std::unique_ptr<std::byte[]>;

/// Boxes of one side's ranks on their way to the same boxes of the other's.
class Shipping {
 public:
  /// `sidecars` are the analysis ranks, on these.
  Shipping(const comm::Communicator& world, const comm::Communicator& sidecars, const Case& c)
      : world_(world), sidecars_(sidecars), c_(c) {
    const auto from = boxes_of(c.cells, c.simulation), to = boxes_of(c.cells, c.analysis);
    if (world.rank() < c.simulation) {
      for (const auto& one : consignments(from, world.rank(), {to}, bytes_per_cell))
        add(c.simulation + one.rank, one.bytes);
      finishers_.push_back(c.simulation + home(world.rank()));
      return;
    }
    const int me = world.rank() - c.simulation;
    for (int r = 0; r < c.simulation; ++r) {
      if (home(r) == me) finishers_.push_back(r);
      for (const auto& one : consignments(from, r, {to}, bytes_per_cell))
        if (one.rank == me) add(r, one.bytes);
    }
  }

  /// Packs and sends one publication.
  void send() {
    auto& voyage = voyages_.emplace_back();
    for (size_t p = 0; p < peers_.size(); ++p) {
      spend_copying(sizes_[p]);
      voyage.push_back(comm::send(world_, memory_[p].get(), sizes_[p], peers_[p], values_tag));
    }
    for (const int peer : finishers_)
      voyage.push_back(comm::send(world_, header_, header_bytes, peer, header_tag));
  }
  void expect() {
    auto& voyage = voyages_.emplace_back();
    for (size_t p = 0; p < peers_.size(); ++p)
      voyage.push_back(comm::receive(world_, memory_[p].get(), sizes_[p], peers_[p], values_tag));
    for (const int peer : finishers_)
      voyage.push_back(comm::receive(world_, header_, header_bytes, peer, header_tag));
  }
  /// Waits for the messages of a publication.
  void wait(int publication) {
    for (auto& request : voyages_[static_cast<size_t>(publication)]) request.wait();
  }
  void unpack() const {
    for (const size_t size : sizes_) spend_copying(size);
  }
  /// Sidecars agree on what has come.
  void agree() {
    std::array<int32_t, agreed_words> words{};
    sidecars_.reduce(words.data(), agreed_words, comm::Operation::Max);
  }
  void say_finished() {
    std::erase_if(answers_, [](comm::Request& answer) { return answer.test(); });
    for (const int peer : finishers_)
      answers_.push_back(comm::send(world_, &word_, sizeof word_, peer, finished_tag));
  }
  void finish() {
    for (auto& answer : answers_) answer.wait();
  }
  void hear_finished() {
    for (const int peer : finishers_)
      comm::receive(world_, &heard_, sizeof heard_, peer, finished_tag).wait();
  }

 private:
  [[nodiscard]] int home(int rank) const {
    return static_cast<int>(int64_t{rank} * c_.analysis / c_.simulation);
  }
  void add(int peer, double bytes) {
    peers_.push_back(peer);
    sizes_.push_back(static_cast<size_t>(bytes));
    memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(sizes_.back()));
  }

  const comm::Communicator& world_;
  const comm::Communicator& sidecars_;
  const Case& c_;
  std::vector<int> peers_, finishers_;
  std::vector<size_t> sizes_;
  std::vector<Memory> memory_;
  std::vector<std::vector<comm::Request>> voyages_;
  std::vector<comm::Request> answers_;
  std::byte header_[header_bytes]{};
  int64_t word_ = 0, heard_ = 0;
};

/// Halos and a spectrum of what lies in boxes.
class Analysing {
 public:
  Analysing(const Side& side, const Case& c) : side_(side) {
    if (!side.leads()) return;
    const Wanted blocks{Tiling::blocks(c.domain(), 3, side.ranks()), {1, 1, 1}, {true, true, true}};
    const Wanted pencils{Tiling::pencils(c.domain(), 3, 0, side.ranks())};
    const auto boxes = boxes_of(c.cells, side.ranks());
    const auto from_boxes = [&](const Wanted& to) {
      return Exchange(side,
                      [&](int rank) { return consignments(boxes, rank, to, bytes_per_cell); });
    };
    to_blocks_ = from_boxes(blocks);
    to_pencils_ = from_boxes(pencils);
    analyses_.emplace(side, c.cells, c.kernels);
  }
  void operator()(Found& mine) const {
    side_.meet_on_node();
    const double begin = MPI_Wtime();
    if (side_.leads()) work(mine);
    side_.meet_on_node();
    mine.analysing += MPI_Wtime() - begin;
  }

 private:
  void work(Found& mine) const {
    const double begin = MPI_Wtime();
    to_blocks_();
    const double in_blocks = MPI_Wtime();
    analyses_->halos();
    const double found = MPI_Wtime();
    to_pencils_();
    const double in_pencils = MPI_Wtime();
    analyses_->spectrum();
    mine.carrying += in_blocks - begin + in_pencils - found;
    mine.halos += found - in_blocks;
    mine.spectrum += MPI_Wtime() - in_pencils;
  }

  const Side& side_;
  Exchange to_blocks_, to_pencils_;
  std::optional<Analyses> analyses_;
};

void note(Found& mine, double begin) { mine.finished.push_back(MPI_Wtime() - begin); }

/// `analysing` if it is done here, else `shipping`.
void simulate(const Side& side, const Case& c, Shipping* shipping, const Analysing* analysing,
              const std::optional<Solver>& solver, Found& mine) {
  const double begin = begin_together();
  for (int p = 0; p < c.publications(); ++p) {
    for (int s = 0; s < c.every && solver; ++s) solver->step();
    if (p == 0) mine.step = (MPI_Wtime() - begin) / c.every;
    if (solver) solver->fill_boxes();
    side.meet_on_node();
    double at = MPI_Wtime();
    if (analysing != nullptr) {
      (*analysing)(mine);
      note(mine, begin);
    } else {
      if (p >= room) {
        shipping->hear_finished();
        shipping->wait(p - room);
      }
      mine.waiting += MPI_Wtime() - at;
      at = MPI_Wtime();
      shipping->send();
      mine.publishing += MPI_Wtime() - at;
    }
    side.meet_on_node();
  }
  for (int p = std::max(0, c.publications() - room); shipping != nullptr && p < c.publications();
       ++p) {
    shipping->hear_finished();
    shipping->wait(p);
  }
  mine.end = MPI_Wtime() - begin;
}

void analyse(const Case& c, Shipping& shipping, const Analysing& analysing, Found& mine) {
  const double begin = begin_together();
  for (int p = 0; p < std::min(ahead, c.publications()); ++p) shipping.expect();
  for (int p = 0; p < c.publications(); ++p) {
    shipping.wait(p);
    if (p + ahead < c.publications()) shipping.expect();
    shipping.agree();
    shipping.unpack();
    analysing(mine);
    shipping.say_finished();
    note(mine, begin);
  }
  shipping.finish();
  mine.end = MPI_Wtime() - begin;
}

template <class Value>
double most(size_t first, size_t last, Value&& value) {
  double out = 0;
  for (size_t r = first; r < last; ++r) out = std::max(out, value(found[r]));
  return out;
}

void print(const Case& c) {
  const auto sim = static_cast<size_t>(c.simulation), all = found.size();
  const size_t first = c.analysis > 0 ? sim : 0;
  const int n = c.publications();
  const auto finished = [&](int p) {
    return most(first, all, [&](auto& f) { return f.finished[static_cast<size_t>(p)]; });
  };
  const double period = n > 1 ? (finished(n - 1) - finished(0)) / (n - 1) : 0;
  std::printf(
      "{\"cells\": %lld, \"simulation\": %d, \"analysis\": %d, \"every\": %d, \"steps\": %d, "
      "\"step_seconds\": %.6g, \"analysis_seconds\": %.6g, \"carrying_seconds\": %.6g, "
      "\"halos_seconds\": %.6g, \"spectrum_seconds\": %.6g, "
      "\"publishing_seconds\": %.6g, \"waiting_seconds\": %.6g, \"period_seconds\": %.6g, "
      "\"first_finished\": %.6g, \"seconds\": %.6g}\n",
      static_cast<long long>(c.cells), c.simulation, c.analysis, c.every, c.steps,
      most(0, sim, [](auto& f) { return f.step; }),
      most(first, all, [](auto& f) { return f.analysing; }) / n,
      most(first, all, [](auto& f) { return f.carrying; }) / n,
      most(first, all, [](auto& f) { return f.halos; }) / n,
      most(first, all, [](auto& f) { return f.spectrum; }) / n,
      most(0, sim, [](auto& f) { return f.publishing; }) / n,
      most(0, sim, [](auto& f) { return f.waiting; }), period, finished(0),
      most(0, all, [](auto& f) { return f.end; }));
  std::fflush(stdout);
}

Case case_of(int argc, char** argv, int ranks) {
  if (argc < 5) {
    std::fputs("intransit: usage: intransit CELLS ANALYSIS EVERY STEPS KERNEL=VALUE...\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int analysis = std::atoi(argv[2]);
  Case c{std::atoll(argv[1]), ranks - analysis,   analysis,
         std::atoi(argv[3]),  std::atoi(argv[4]), {}};
  for (int i = 5; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t at = text.find('=');
    c.kernels[text.substr(0, at)] = std::atof(text.c_str() + at + 1);
  }
  return c;
}

void run(const comm::Communicator& world, const Case& c) {
  Found& mine = found[static_cast<size_t>(world.rank())];
  const Side simulating(0, c.simulation, 0);
  const Side aside(c.simulation, c.analysis, 1);
  const auto sidecars = world.split(aside.has_me() ? 0 : -1);
  std::optional<Shipping> shipping;
  if (c.analysis > 0) shipping.emplace(world, sidecars, c);
  std::optional<Analysing> analysing;
  if (aside.has_me() || c.analysis == 0) analysing.emplace(c.analysis > 0 ? aside : simulating, c);
  std::optional<Solver> solver;
  if (simulating.has_me() && simulating.leads()) solver.emplace(simulating, c.cells, c.kernels);
  if (aside.has_me()) analyse(c, *shipping, *analysing, mine);
  else
    simulate(simulating, c, shipping ? &*shipping : nullptr, analysing ? &*analysing : nullptr,
             solver, mine);
}

}  // namespace

// Else hidden, so that the linker drops what is not used of the library.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const comm::Communicator world(MPI_COMM_WORLD);
    if (world.rank() == 0) found.resize(static_cast<size_t>(world.size()));
    world.barrier();
    const Case c = case_of(argc, argv, world.size());
    run(world, c);
    world.barrier();
    if (world.rank() == 0) print(c);
  }
  MPI_Finalize();
  return 0;
}
