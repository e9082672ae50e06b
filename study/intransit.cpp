// SPDX-License-Identifier: BSD-3-Clause
// One point of the study of analyses in transit: so many steps of a simulation with halos and a
// spectrum of its density every few of them, on ranks of their own or, if there are none, on the
// simulation's. Steps and analyses are models (work.hpp). Between the two sides data move by the
// library's plans, with the messages of its network transport: a header to one sidecar, parts to
// those that work on them, receives posted for two publications ahead, one reduction among sidecars
// for each, and answers that no rank waits for. Either a thread moves the messages or, with
// thread=0, large ones leave only in pillion_step, in pieces. Prints one line of JSON; times are
// simulated. Run it by intransit.sh.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

#include "comm/message.hpp"
#include "policy/send_time.hpp"
#include "simulated.hpp"
#include "work.hpp"

namespace {

using namespace pillion;
using namespace study;
using layout::Wanted;

constexpr double bytes_per_cell = 8;
constexpr int values_tag = 40, finished_tag = 41, header_tag = 42, announced_tag = 43,
              large_tag = 44;
constexpr int ahead = 2;  // publications for which receives are posted
constexpr size_t header_bytes = 512, answer_bytes = 32;
constexpr int agreed_words = 71;  // that sidecars reduce for each message
// Without a thread MPI moves a large message by pieces, each in a call.
constexpr size_t piece = 256 << 10;
constexpr double poll = 2e-4, shortest = 1e-6;  // seconds; the simulator knows none shorter

struct Case {
  int64_t cells;
  int simulation, analysis, every, steps;
  Kernels kernels;
  bool has_thread = true;
  bool only_moves = false;  ///< nothing is computed, copied or analysed
  /// Publications under way.
  [[nodiscard]] int room() const { return only_moves ? publications() : 2; }
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

  /// Packs and sends one publication: the header first.
  void send() {
    auto& voyage = voyages_.emplace_back();
    for (const size_t size : sizes_) copy(size);
    for (const int peer : finishers_)
      voyage.push_back(comm::send(world_, header_, header_bytes, peer, header_tag));
    for (size_t p = 0; p < peers_.size(); ++p) {
      if (c_.has_thread) {
        voyage.push_back(comm::send(world_, memory_[p].get(), sizes_[p], peers_[p], values_tag));
        continue;
      }
      // How large the first ones are receivers do not know.
      if (voyages_.size() <= ahead)
        voyage.push_back(comm::send(world_, &word_, sizeof word_, peers_[p], announced_tag));
      for (size_t at = 0; at < sizes_[p]; at += piece)
        pieces_.push_back({p, at, voyages_.size() - 1});
    }
  }
  /// In pillion_step: sends for as long as the library lets it.
  void step() {
    if (c_.has_thread || pieces_.empty()) return;
    const bool is_awaited = pieces_.front().publication == finished_;
    send_until(MPI_Wtime() + send_time_.allow(MPI_Wtime(), is_awaited));
    send_time_.ended(MPI_Wtime(), pieces_.empty());
  }
  /// Waits until a publication has been sent and its answer is here.
  void hear_finished(int publication) {
    for (const int peer : finishers_)
      await(comm::receive(world_, &heard_, sizeof heard_, peer, finished_tag));
    while (!pieces_.empty() && pieces_.front().publication <= static_cast<size_t>(publication))
      send_until(MPI_Wtime() + poll);
    for (auto& request : voyages_[static_cast<size_t>(publication)]) await(std::move(request));
    finished_ = static_cast<size_t>(publication) + 1;
  }

  void expect() {
    auto& voyage = voyages_.emplace_back();
    for (const int peer : finishers_)
      voyage.push_back(comm::receive(world_, header_, header_bytes, peer, header_tag));
    const bool is_announced = !c_.has_thread && voyages_.size() <= ahead;
    for (size_t p = 0; p < peers_.size(); ++p) {
      if (is_announced)
        announced_.push_back(
            {comm::receive(world_, &heard_, sizeof heard_, peers_[p], announced_tag), p,
             voyages_.size() - 1});
      else expect(voyage, p, values_tag);
    }
  }
  /// Posts receives for what was announced.
  void look() {
    std::erase_if(announced_, [&](Announced& announced) {
      if (!announced.request.test()) return false;
      expect(voyages_[announced.publication], announced.part, large_tag);
      return true;
    });
  }
  /// Waits for the messages of a publication.
  void take(int publication) {
    const auto number = static_cast<size_t>(publication);
    while (!announced_.empty() && announced_.front().publication <= number) {
      auto& announced = announced_.front();
      announced.request.wait();
      expect(voyages_[announced.publication], announced.part, large_tag);
      announced_.pop_front();
    }
    for (auto& request : voyages_[number]) request.wait();
  }
  void unpack() const {
    for (const size_t size : sizes_) copy(size);
  }
  /// Sidecars agree on what has come.
  void agree() {
    std::array<int32_t, agreed_words> words{};
    sidecars_.reduce(words.data(), agreed_words, comm::Operation::Max);
  }
  void say_finished() {
    std::erase_if(answers_, [](comm::Request& answer) { return answer.test(); });
    for (const int peer : finishers_)
      answers_.push_back(comm::send(world_, answer_, sizeof answer_, peer, finished_tag));
  }
  void finish() {
    for (auto& answer : answers_) answer.wait();
  }

 private:
  struct Piece {
    size_t part, at, publication;
  };
  struct Announced {
    comm::Request request;
    size_t part, publication;
  };
  [[nodiscard]] int home(int rank) const {
    return static_cast<int>(int64_t{rank} * c_.analysis / c_.simulation);
  }
  void add(int peer, double bytes) {
    peers_.push_back(peer);
    sizes_.push_back(static_cast<size_t>(bytes));
    memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(sizes_.back()));
  }
  void copy(size_t bytes) const {
    if (!c_.only_moves) spend_copying(bytes);
  }
  void expect(std::vector<comm::Request>& voyage, size_t part, int tag) {
    const size_t each = c_.has_thread ? sizes_[part] : piece;
    for (size_t at = 0; at < sizes_[part]; at += each)
      voyage.push_back(comm::receive(world_, memory_[part].get() + at,
                                     std::min(each, sizes_[part] - at), peers_[part], tag));
  }
  /// Sends pieces one after the other, each when the one before has gone.
  void send_until(double deadline) {
    for (double left; (left = deadline - MPI_Wtime()) > shortest;) {
      if (is_moving_ && !moving_.test()) {
        spend(std::min(left, poll));
        continue;
      }
      if (std::exchange(is_moving_, false)) pieces_.pop_front();
      if (pieces_.empty()) return;
      const auto [part, at, publication] = pieces_.front();
      moving_ = comm::send(world_, memory_[part].get() + at, std::min(piece, sizes_[part] - at),
                           peers_[part], publication < ahead ? large_tag : values_tag);
      is_moving_ = true;
    }
  }
  /// Waits, and sends pieces meanwhile.
  void await(comm::Request request) {
    if (c_.has_thread) return request.wait();
    while (!request.test()) {
      send_until(MPI_Wtime() + poll);
      if (pieces_.empty()) return request.wait();
    }
  }

  const comm::Communicator& world_;
  const comm::Communicator& sidecars_;
  const Case& c_;
  std::vector<int> peers_, finishers_;
  std::vector<size_t> sizes_;
  std::vector<Memory> memory_;
  std::vector<std::vector<comm::Request>> voyages_;
  std::vector<comm::Request> answers_;
  std::deque<Piece> pieces_;  ///< that have not gone, the one that is moving included
  comm::Request moving_;
  bool is_moving_ = false;
  std::deque<Announced> announced_;
  pillion::policy::SendTime send_time_;
  size_t finished_ = 0;  ///< publications whose answers were received
  std::byte header_[header_bytes]{}, answer_[answer_bytes]{}, heard_[answer_bytes]{};
  int64_t word_ = 0;
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
    for (int s = 0; s < c.every && !c.only_moves; ++s) {
      if (solver) solver->step();
      if (c.has_thread || shipping == nullptr) continue;
      side.meet_on_node();
      shipping->step();
    }
    if (p == 0) mine.step = (MPI_Wtime() - begin) / c.every;
    if (solver && !c.only_moves) solver->fill_boxes();
    side.meet_on_node();
    double at = MPI_Wtime();
    if (analysing != nullptr) {
      (*analysing)(mine);
      note(mine, begin);
    } else {
      if (p >= c.room()) shipping->hear_finished(p - c.room());
      mine.waiting += MPI_Wtime() - at;
      at = MPI_Wtime();
      shipping->send();
      mine.publishing += MPI_Wtime() - at;
    }
    side.meet_on_node();
  }
  for (int p = std::max(0, c.publications() - c.room());
       shipping != nullptr && p < c.publications(); ++p)
    shipping->hear_finished(p);
  mine.end = MPI_Wtime() - begin;
}

void analyse(const Case& c, Shipping& shipping, const Analysing& analysing, Found& mine) {
  const double begin = begin_together();
  for (int p = 0; p < std::min(ahead, c.publications()); ++p) shipping.expect();
  for (int p = 0; p < c.publications(); ++p) {
    shipping.take(p);
    if (p + ahead < c.publications()) shipping.expect();
    shipping.agree();
    shipping.unpack();
    if (!c.only_moves) analysing(mine);
    shipping.look();
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
      "\"first_finished\": %.6g, \"seconds\": %.6g, \"thread\": %d}\n",
      static_cast<long long>(c.cells), c.simulation, c.analysis, c.every, c.steps,
      most(0, sim, [](auto& f) { return f.step; }),
      most(first, all, [](auto& f) { return f.analysing; }) / n,
      most(first, all, [](auto& f) { return f.carrying; }) / n,
      most(first, all, [](auto& f) { return f.halos; }) / n,
      most(first, all, [](auto& f) { return f.spectrum; }) / n,
      most(0, sim, [](auto& f) { return f.publishing; }) / n,
      most(0, sim, [](auto& f) { return f.waiting; }), period, finished(0),
      most(0, all, [](auto& f) { return f.end; }), c.has_thread ? 1 : 0);
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
  if (c.kernels.contains("thread")) c.has_thread = c.kernels["thread"] != 0;
  if (c.kernels.contains("only_moves")) c.only_moves = c.kernels["only_moves"] != 0;
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
