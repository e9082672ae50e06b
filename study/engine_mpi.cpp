// SPDX-License-Identifier: BSD-3-Clause
// MPI for the library in the study of the engine. SimGrid 3.32 lacks matched probes, and its
// collectives that do not block send from every rank to every other. So all collectives that the
// library uses are here, by the algorithms that MPI libraries have for few bytes: recursive
// doubling, binomial trees, and Bruck's. Any call of a rank that waits or tests advances all
// collectives that the rank has begun, as in an MPI library.
#include "engine_mpi.hpp"

#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <coroutine>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <simgrid/s4u.hpp>
#include <utility>

namespace study {
namespace {

constexpr double poll_seconds = 2e-6;
constexpr double longest_poll = 5e-5;

double latest = 0;
int ranks_counting = 0;  ///< else there may be no simulator to ask who runs

/// The rank that runs, or -1 if it is the simulator.
int here() {
  return ranks_counting == 0 ? -1 : static_cast<int>(simgrid::s4u::this_actor::get_pid()) - 1;
}

constexpr size_t most_ranks = 1 << 14;
std::array<Counters, most_ranks> counted;  // there before anything is allocated

Counters& mine() { return counted[static_cast<size_t>(std::max(here(), 0))]; }

double processor_now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// When each rank last left MPI; it may be another's turn inside.
std::array<double, most_ranks> left{};

/// While it lives the rank is inside MPI.
class Inside {
 public:
  Inside() : rank_(static_cast<size_t>(here())) {
    if (left[rank_] > 0) counted[rank_].processor += processor_now() - left[rank_];
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { left[rank_] = processor_now(); }

 private:
  size_t rank_;
};

/// The rank in the world of a rank of a communicator.
int in_world(MPI_Comm comm, int rank) {
  if (comm == MPI_COMM_WORLD) return rank;
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int out = 0;
  PMPI_Group_translate_ranks(group, 1, &rank, world, &out);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return out;
}

void count_message(MPI_Comm comm, int to, int64_t bytes) {
  latest = simgrid::s4u::Engine::get_clock();
  for (const int rank : {here(), in_world(comm, to)}) {
    auto& counters = counted[static_cast<size_t>(rank)];
    ++counters.messages;
    counters.bytes += bytes;
  }
}

int64_t size_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return int64_t{count} * size;
}

// Collectives.

/// A collective that a rank has begun: it runs until it awaits messages.
class Collective {
 public:
  struct promise_type {
    std::vector<MPI_Request> pending;
    Collective get_return_object() {
      return Collective(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };

  explicit Collective(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective() { handle_.destroy(); }

  [[nodiscard]] bool is_done() const { return handle_.done(); }
  void advance() {
    while (!is_done()) {
      auto& pending = handle_.promise().pending;
      int all = 0;
      PMPI_Testall(static_cast<int>(pending.size()), pending.data(), &all, MPI_STATUSES_IGNORE);
      if (all == 0) return;
      resume();
    }
  }
  /// Only if it is the rank's only one: others would not advance.
  void wait() {
    while (!is_done()) {
      auto& pending = handle_.promise().pending;
      PMPI_Waitall(static_cast<int>(pending.size()), pending.data(), MPI_STATUSES_IGNORE);
      resume();
    }
  }

 private:
  void resume() {
    handle_.promise().pending.clear();
    handle_.resume();
  }
  std::coroutine_handle<promise_type> handle_;
};

/// Messages of one collective.
class Wire {
 public:
  explicit Wire(MPI_Comm comm);
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// Awaits a message to one rank and one from another, either of which may be none (-1).
  struct Exchange {
    MPI_Comm comm;
    int tag, to, from;
    const void* out;
    size_t out_size;
    void* in;
    size_t in_size;
    [[nodiscard]] bool await_ready() const { return to < 0 && from < 0; }
    void await_suspend(std::coroutine_handle<Collective::promise_type> handle) const {
      auto& pending = handle.promise().pending;
      if (from >= 0)
        PMPI_Irecv(in, static_cast<int>(in_size), MPI_BYTE, from, tag, comm,
                   &pending.emplace_back());
      if (to < 0) return;
      count_message(comm, to, static_cast<int64_t>(out_size));
      PMPI_Isend(out, static_cast<int>(out_size), MPI_BYTE, to, tag, comm, &pending.emplace_back());
    }
    void await_resume() const {}
  };
  [[nodiscard]] Exchange swap(int to, const void* out, size_t out_size, int from, void* in,
                              size_t in_size) const {
    return {comm_, tag_, to, from, out, out_size, in, in_size};
  }
  [[nodiscard]] Exchange send(int to, const void* data, size_t size) const {
    return swap(to, data, size, -1, nullptr, 0);
  }
  [[nodiscard]] Exchange receive(int from, void* data, size_t size) const {
    return swap(-1, nullptr, 0, from, data, size);
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 0, tag_ = 0;
};

// Collectives of a communicator are numbered alike on all ranks; tags begin above the library's.
std::map<std::pair<int, MPI_Comm>, int> numbers;

Wire::Wire(MPI_Comm comm) : comm_(comm) {
  constexpr int first = 1000, count = 900000;
  PMPI_Comm_rank(comm, &rank_);
  PMPI_Comm_size(comm, &ranks_);
  tag_ = first + numbers[{here(), comm}]++ % count;
}

using Buffer = std::vector<std::byte>;

// Recursive doubling. Ranks beyond the greatest power of two give theirs to one that takes part.
Collective reduce(Wire wire, void* values, int count, MPI_Datatype type, MPI_Op op) {
  const auto size = static_cast<size_t>(size_of(count, type));
  const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(wire.ranks())));
  const int rank = wire.rank(), beyond = wire.ranks() - paired;
  Buffer theirs(size), mine(size);
  if (rank >= paired) {
    co_await wire.send(rank - paired, values, size);
    co_await wire.receive(rank - paired, values, size);
    co_return;
  }
  if (rank < beyond) {
    co_await wire.receive(rank + paired, theirs.data(), size);
    PMPI_Reduce_local(theirs.data(), values, count, type, op);
  }
  for (int distance = 1; distance < paired; distance *= 2) {
    std::memcpy(mine.data(), values, size);
    co_await wire.swap(rank ^ distance, mine.data(), size, rank ^ distance, theirs.data(), size);
    PMPI_Reduce_local(theirs.data(), values, count, type, op);
  }
  if (rank < beyond) co_await wire.send(rank + paired, values, size);
}

// Dissemination.
Collective meet(Wire wire) {
  for (int distance = 1; distance < wire.ranks(); distance *= 2)
    co_await wire.swap((wire.rank() + distance) % wire.ranks(), nullptr, 0,
                       (wire.rank() - distance + wire.ranks()) % wire.ranks(), nullptr, 0);
}

// A binomial tree.
Collective broadcast(Wire wire, void* data, size_t size, int root) {
  const int ranks = wire.ranks(), rank = (wire.rank() - root + ranks) % ranks;
  const auto real = [&](int which) { return (which + root) % ranks; };
  int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  if (rank != 0) {
    distance = 1 << std::countr_zero(static_cast<unsigned>(rank));
    co_await wire.receive(real(rank - distance), data, size);
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (rank + distance < ranks) co_await wire.send(real(rank + distance), data, size);
}

// Bruck's: each rank begins with its own, and has twice as many after each round.
Collective gather_all(Wire wire, const void* own, size_t each, void* out) {
  const int ranks = wire.ranks(), rank = wire.rank();
  Buffer all(each * static_cast<size_t>(ranks));
  std::memcpy(all.data(), own, each);
  for (int have = 1; have < ranks; have *= 2) {
    const auto size = each * static_cast<size_t>(std::min(have, ranks - have));
    co_await wire.swap((rank - have + ranks) % ranks, all.data(), size, (rank + have) % ranks,
                       all.data() + each * static_cast<size_t>(have), size);
  }
  for (int r = 0; r < ranks; ++r)
    std::memcpy(static_cast<std::byte*>(out) + each * static_cast<size_t>((rank + r) % ranks),
                all.data() + each * static_cast<size_t>(r), each);
}

// Bruck's: in round k, what has bit k in its distance goes that far.
Collective exchange_all(Wire wire, const void* in, size_t each, void* out) {
  const int ranks = wire.ranks(), rank = wire.rank();
  Buffer all(each * static_cast<size_t>(ranks)), sent, got;
  const auto at = [&](int d) { return all.data() + each * static_cast<size_t>(d); };
  for (int d = 0; d < ranks; ++d)
    std::memcpy(at(d),
                static_cast<const std::byte*>(in) + each * static_cast<size_t>((rank + d) % ranks),
                each);
  for (int bit = 1; bit < ranks; bit *= 2) {
    sent.clear();
    for (int d = bit; d < ranks; ++d)
      if ((d & bit) != 0) sent.insert(sent.end(), at(d), at(d) + each);
    got.resize(sent.size());
    co_await wire.swap((rank + bit) % ranks, sent.data(), sent.size(), (rank - bit + ranks) % ranks,
                       got.data(), got.size());
    const std::byte* next = got.data();
    for (int d = bit; d < ranks; ++d)
      if ((d & bit) != 0) std::memcpy(at(d), next, each), next += each;
  }
  for (int d = 0; d < ranks; ++d)
    std::memcpy(
        static_cast<std::byte*>(out) + each * static_cast<size_t>((rank - d + ranks) % ranks),
        at(d), each);
}

/// Those that a rank has begun and not yet seen done.
std::array<std::vector<Collective*>, most_ranks> begun;
/// Those that the library holds as requests.
std::map<MPI_Request, std::unique_ptr<Collective>> requests;

void advance_all() {
  auto& all = begun[static_cast<size_t>(here())];
  for (auto* each : all) each->advance();
  std::erase_if(all, [](const auto* each) { return each->is_done(); });
}

/// Waits until `is_done` holds, and advances collectives meanwhile.
template <class Done>
void poll_until(Done&& is_done) {
  for (double pause = poll_seconds; !is_done(); pause = std::min(2 * pause, longest_poll)) {
    simgrid::s4u::this_actor::sleep_for(pause);
    advance_all();
  }
}

bool has_begun_any() { return !begun[static_cast<size_t>(here())].empty(); }

void finish(Collective& collective) {
  advance_all();
  if (!has_begun_any()) collective.wait();
  else {
    begun[static_cast<size_t>(here())].push_back(&collective);
    poll_until([&] { return collective.is_done(); });
    std::erase(begun[static_cast<size_t>(here())], &collective);
  }
}

/// A collective that blocks.
template <class... Arguments>
int block(Collective (*which)(Wire, Arguments...), MPI_Comm comm, Arguments... arguments) {
  const Inside inside;
  ++mine().collectives;
  Collective collective = which(Wire(comm), arguments...);
  finish(collective);
  return MPI_SUCCESS;
}

int begin(std::unique_ptr<Collective> collective, MPI_Request* request) {
  ++mine().collectives;
  begun[static_cast<size_t>(here())].push_back(collective.get());
  *request = reinterpret_cast<MPI_Request>(collective.get());
  requests[*request] = std::move(collective);
  advance_all();
  return MPI_SUCCESS;
}

template <class Make>
int create(MPI_Comm* out, Make&& make) {
  const Inside inside;
  const double began = simgrid::s4u::Engine::get_clock();
  const int code = make();
  numbers.erase({here(), *out});  // it may have the handle of one that was freed
  mine().creating += simgrid::s4u::Engine::get_clock() - began;
  return code;
}

}  // namespace

const Counters& counters(int rank) { return counted[static_cast<size_t>(rank)]; }

void meet_uncounted(MPI_Comm comm) {
  const Inside inside;
  PMPI_Barrier(comm);
}

double most_uncounted(MPI_Comm comm, double value) {
  const Inside inside;
  double most = 0;
  PMPI_Reduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  return most;
}

double latest_message() { return latest; }

void begin_counting() {
  ++ranks_counting;
  PMPI_Barrier(MPI_COMM_WORLD);
}
void end_counting() {
  PMPI_Barrier(MPI_COMM_WORLD);
  --ranks_counting;
}

void reset_peaks() {
  for (auto& each : counted) each.peak = each.memory;
}

double SimulatedClock::monotonic_seconds() { return simgrid::s4u::Engine::get_clock(); }
double SimulatedClock::calendar_seconds() { return 1e9 + monotonic_seconds(); }
void SimulatedClock::sleep(double seconds) {
  const Inside inside;
  simgrid::s4u::this_actor::sleep_for(std::clamp(seconds, 1e-7, 1e3));
  advance_all();
}
void SimulatedClock::yield() { sleep(1e-6); }
void SimulatedClock::sleep_while(const std::atomic<uint32_t>& word, uint32_t seen, double seconds) {
  if (word == seen) sleep(std::min(seconds, 1e-3));
}

}  // namespace study

using namespace study;

extern "C" {

int MPI_Barrier(MPI_Comm comm) { return block(&meet, comm); }

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return block(&broadcast, comm, data, static_cast<size_t>(size_of(count, type)), root);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  if (in != MPI_IN_PLACE) std::memcpy(out, in, static_cast<size_t>(size_of(count, type)));
  return block(&reduce, comm, out, count, type, op);
}

int MPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype,
                  MPI_Comm comm) {
  return block(&gather_all, comm, in, static_cast<size_t>(size_of(count, type)), out);
}

int MPI_Alltoall(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype,
                 MPI_Comm comm) {
  return block(&exchange_all, comm, in, static_cast<size_t>(size_of(count, type)), out);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  const Inside inside;
  return begin(std::unique_ptr<Collective>(new Collective(meet(Wire(comm)))), request);
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  const Inside inside;
  if (in != MPI_IN_PLACE) std::memcpy(out, in, static_cast<size_t>(size_of(count, type)));
  return begin(
      std::unique_ptr<Collective>(new Collective(reduce(Wire(comm), out, count, type, op))),
      request);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const Inside inside;
  count_message(comm, to, size_of(count, type));
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  const Inside inside;
  count_message(comm, to, size_of(count, type));
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const Inside inside;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

// SimGrid 3.32 leaves `done` as it is if there is no request and no status.
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const Inside inside;
  advance_all();
  *done = 1;
  const auto at = requests.find(*request);
  if (at == requests.end()) return PMPI_Test(request, done, status);
  *done = at->second->is_done() ? 1 : 0;
  if (*done != 0) {
    requests.erase(at);
    *request = MPI_REQUEST_NULL;
  } else {
    simgrid::s4u::this_actor::sleep_for(poll_seconds);  // or a rank that only tests stops all time
  }
  return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const Inside inside;
  advance_all();
  if (const auto at = requests.find(*request); at != requests.end()) {
    const std::unique_ptr<Collective> collective = std::move(at->second);
    requests.erase(at);
    *request = MPI_REQUEST_NULL;
    std::erase(begun[static_cast<size_t>(here())], collective.get());
    finish(*collective);
    return MPI_SUCCESS;
  }
  int done = 0;
  if (has_begun_any())
    poll_until([&] {
      PMPI_Test(request, &done, status);
      return done != 0 || !has_begun_any();
    });
  return done != 0 ? MPI_SUCCESS : PMPI_Wait(request, status);
}

int MPI_Testall(int count, MPI_Request* all, int* done, MPI_Status* statuses) {
  const Inside inside;
  advance_all();
  return PMPI_Testall(count, all, done, statuses);
}

int MPI_Testany(int count, MPI_Request* all, int* index, int* done, MPI_Status* status) {
  const Inside inside;
  advance_all();
  return PMPI_Testany(count, all, index, done, status);
}

int MPI_Waitany(int count, MPI_Request* all, int* index, MPI_Status* status) {
  const Inside inside;
  advance_all();
  int done = 0;
  if (has_begun_any())
    poll_until([&] {
      PMPI_Testany(count, all, index, &done, status);
      return done != 0 || !has_begun_any();
    });
  return done != 0 ? MPI_SUCCESS : PMPI_Waitany(count, all, index, status);
}

// A rank has one thread here, so what a probe found is still there when it is received.

struct Probed {
  int source, tag;
  MPI_Comm comm;
};

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* found, MPI_Message* message,
                MPI_Status* status) {
  const Inside inside;
  advance_all();
  const int code = PMPI_Iprobe(source, tag, comm, found, status);
  if (*found != 0) *message = new Probed{status->MPI_SOURCE, status->MPI_TAG, comm};
  return code;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const Inside inside;
  advance_all();
  int found = 0;
  if (has_begun_any())
    poll_until([&] {
      PMPI_Iprobe(source, tag, comm, &found, status);
      return found != 0 || !has_begun_any();
    });
  const int code = found != 0 ? MPI_SUCCESS : PMPI_Probe(source, tag, comm, status);
  *message = new Probed{status->MPI_SOURCE, status->MPI_TAG, comm};
  return code;
}

int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const Inside inside;
  const std::unique_ptr<Probed> probed(static_cast<Probed*>(std::exchange(*message, nullptr)));
  return PMPI_Recv(data, count, type, probed->source, probed->tag, probed->comm, status);
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  const Inside inside;
  const std::unique_ptr<Probed> probed(static_cast<Probed*>(std::exchange(*message, nullptr)));
  return PMPI_Irecv(data, count, type, probed->source, probed->tag, probed->comm, request);
}

int MPI_Get_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count* elements) {
  int count = 0;
  const int code = PMPI_Get_count(status, type, &count);
  *elements = count;
  return code;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) {
  return create(out, [&] { return PMPI_Comm_dup(comm, out); });
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* out) {
  return create(out, [&] { return PMPI_Comm_split(comm, colour, key, out); });
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out) {
  return create(out, [&] { return PMPI_Comm_split_type(comm, type, key, info, out); });
}

int MPI_Comm_free(MPI_Comm* comm) {
  const Inside inside;
  return PMPI_Comm_free(comm);
}
}

// Memory that a rank frees is counted as its own, whoever allocated it.

void* operator new(size_t size) {
  void* memory = std::malloc(std::max<size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  auto& counters = mine();
  counters.memory += static_cast<int64_t>(malloc_usable_size(memory));
  counters.peak = std::max(counters.peak, counters.memory);
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  mine().memory -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
