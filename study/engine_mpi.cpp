// SPDX-License-Identifier: BSD-3-Clause
// MPI for the library in the study of the engine: messages over engine_network.cpp, collectives by
// engine_collectives.cpp. Any call of a rank that waits or tests advances all collectives that the
// rank has begun, as in an MPI library. SimGrid has the ranks, groups and datatypes, and makes
// communicators.
#include "engine_mpi.hpp"

#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <utility>

#include "engine_collectives.hpp"
#include "engine_network.hpp"

namespace study {
namespace {

double latest = 0;
int ranks_counting = 0;  ///< else there may be no simulator to ask who runs

std::array<Counters, most_ranks> counted;  // there before anything is allocated

Counters& mine() { return counted[static_cast<size_t>(ranks_counting == 0 ? 0 : here())]; }

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

template <class Key, class Value>
using UncountedMap = std::map<Key, Value, std::less<>, Uncounted<std::pair<const Key, Value>>>;
/// Ranks in the world, of the ranks of a communicator.
using Ranks = std::vector<int, Uncounted<int>>;

/// What a rank knows of a communicator.
struct Members {
  int number = 0;  ///< the same on all its ranks
  int rank = 0;
  const Ranks* in_world = nullptr;
  int collectives = 0, created = 0;  ///< from it, so far
};

UncountedMap<std::pair<int, MPI_Comm>, Members> members;
UncountedMap<int, Ranks> in_world;  ///< by number of the communicator

Ranks translate(MPI_Comm comm, int first) {
  Ranks ranks(static_cast<size_t>(first)), out(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, first, ranks.data(), world, out.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return out;
}

Members& add_members(MPI_Comm comm, int number) {
  auto& added = members[{here(), comm}];
  added = {};  // it may have the handle of one that was freed
  added.number = number;
  PMPI_Comm_rank(comm, &added.rank);
  const auto [at, is_new] = in_world.try_emplace(number);
  if (is_new) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    at->second = translate(comm, size);
  }
  added.in_world = &at->second;
  return added;
}

Members& members_of(MPI_Comm comm) {
  const auto at = members.find(std::pair{here(), comm});
  return at != members.end() ? at->second : add_members(comm, 0);  // the world's
}

void count_message(int to, int64_t bytes) {
  latest = now();
  for (const int rank : {here(), to}) {
    auto& counters = counted[static_cast<size_t>(rank)];
    ++counters.messages;
    counters.bytes += bytes;
  }
}

}  // namespace

Operation* send_message(MPI_Comm comm, int to, int tag, const void* data, size_t size,
                        bool synchronous) {
  const auto& all = members_of(comm);
  const int rank = (*all.in_world)[static_cast<size_t>(to)];
  count_message(rank, static_cast<int64_t>(size));
  return start_sending(rank, {all.number, all.rank, tag}, data, size, synchronous);
}

Operation* receive_message(MPI_Comm comm, int from, int tag, void* data, size_t room) {
  return start_receiving({members_of(comm).number, from, tag}, data, room);
}

int64_t size_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return int64_t{count} * size;
}

// Collectives of a communicator are numbered alike on all ranks; tags begin above the library's.
Wire::Wire(MPI_Comm comm) : comm_(comm) {
  constexpr int first = 1000, count = 900000;
  auto& all = members_of(comm);
  rank_ = all.rank;
  ranks_ = static_cast<int>(all.in_world->size());
  tag_ = first + all.collectives++ % count;
}

namespace {

/// Requests that a rank has begun and not completed.
std::array<std::vector<Collective*, Uncounted<Collective*>>, most_ranks> begun;

void advance_all() {
  auto& all = begun[static_cast<size_t>(here())];
  for (auto* each : all) each->advance();
  std::erase_if(all, [](const auto* each) { return each->is_done(); });
}

/// Waits until `is_done` holds, and advances collectives meanwhile.
template <class Done>
void wait_until(Done&& is_done) {
  for (;;) {
    advance_all();
    if (is_done()) return;
    rest_until(never);
  }
}

/// What the library holds as a request.
struct Request : UncountedObject {
  std::unique_ptr<Operation> operation;  ///< or else a collective
  std::unique_ptr<Collective> collective;
  [[nodiscard]] bool is_done() const {
    return collective ? collective->is_done() : operation->is_done();
  }
};

Request* request_of(MPI_Request handle) { return reinterpret_cast<Request*>(handle); }
int hold(Request* request, MPI_Request* out) {
  *out = reinterpret_cast<MPI_Request>(request);
  return MPI_SUCCESS;
}
int hold(Operation* operation, MPI_Request* out) {
  auto* request = new Request;
  request->operation.reset(operation);
  return hold(request, out);
}

void describe(const Operation* operation, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  *status = {};
  if (operation == nullptr) return;
  status->MPI_SOURCE = operation->envelope.from;
  status->MPI_TAG = operation->envelope.tag;
  status->count = static_cast<int>(operation->size);
  status->cancelled = operation->is_withdrawn ? 1 : 0;
}

/// Of a request that is done, or of none.
void end(MPI_Request* handle, MPI_Status* status) {
  const std::unique_ptr<Request> request(request_of(std::exchange(*handle, MPI_REQUEST_NULL)));
  auto* operation = request ? request->operation.get() : nullptr;
  describe(operation, status);
  if (operation != nullptr && operation->is_receive && !operation->is_withdrawn) spend_receiving();
}

/// A collective that blocks.
template <class... Arguments>
int block(Collective (*which)(Wire, Arguments...), MPI_Comm comm, Arguments... arguments) {
  const Inside inside;
  ++mine().collectives;
  Collective collective = which(Wire(comm), arguments...);
  wait_until([&] {
    collective.advance();
    return collective.is_done();
  });
  return MPI_SUCCESS;
}

int begin(std::unique_ptr<Collective> collective, MPI_Request* out) {
  ++mine().collectives;
  begun[static_cast<size_t>(here())].push_back(collective.get());
  auto* request = new Request;
  request->collective = std::move(collective);
  hold(request, out);
  advance_all();
  return MPI_SUCCESS;
}

/// By where they come from: the communicator, how many were made from it before, and the first
/// rank in the world.
UncountedMap<std::tuple<int, int, int>, int> numbers;

template <class Make>
int create(MPI_Comm from, MPI_Comm* out, Make&& make) {
  const Inside inside;
  auto& parent = members_of(from);
  const int number = parent.number, created = parent.created++;
  const double began = now();
  const int code = make();
  mine().creating += now() - began;
  if (code != MPI_SUCCESS || *out == MPI_COMM_NULL) return code;
  const int next = static_cast<int>(numbers.size()) + 1;
  const std::tuple key{number, created, translate(*out, 1).front()};
  add_members(*out, numbers.try_emplace(key, next).first->second);
  return code;
}

/// By the number of ranks that meet.
std::map<int, simgrid::s4u::BarrierPtr> barriers;
std::array<double, most_ranks> reported{};

}  // namespace

const Counters& counters(int rank) { return counted[static_cast<size_t>(rank)]; }

// A barrier of the simulator, over which no message goes: SimGrid's MPI_Barrier sends from one rank
// to every other, and its work grows with the square of the messages that a rank has sent.
void meet_uncounted(MPI_Comm comm) {
  const Inside inside;
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  auto& barrier = barriers[ranks];
  if (!barrier) barrier = simgrid::s4u::Barrier::create(static_cast<unsigned>(ranks));
  const auto mine = barrier;
  mine->wait();
}

double most_uncounted(MPI_Comm comm, double value) {
  int rank = 0, ranks = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  reported[static_cast<size_t>(rank)] = value;
  meet_uncounted(comm);
  return *std::max_element(reported.begin(), reported.begin() + ranks);
}

void rest_uncounted(double seconds) {
  const Inside inside;
  for (const double end = now() + seconds; now() + 1e-8 < end; advance_all()) rest_until(end);
}

double latest_message() { return latest; }

void begin_counting() {
  join_network();
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

double SimulatedClock::monotonic_seconds() { return now(); }
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
  return hold(send_message(comm, to, tag, data, static_cast<size_t>(size_of(count, type))),
              request);
}

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  const Inside inside;
  return hold(send_message(comm, to, tag, data, static_cast<size_t>(size_of(count, type)), true),
              request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const Inside inside;
  return hold(
      receive_message(comm, from == MPI_ANY_SOURCE ? any : from, tag == MPI_ANY_TAG ? any : tag,
                      data, static_cast<size_t>(size_of(count, type))),
      request);
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const Inside inside;
  advance_all();
  *done = *request == MPI_REQUEST_NULL || request_of(*request)->is_done() ? 1 : 0;
  if (*done != 0) end(request, status);
  else poll_in_vain();
  return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const Inside inside;
  if (*request != MPI_REQUEST_NULL) wait_until([&] { return request_of(*request)->is_done(); });
  end(request, status);
  return MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request* all, int* done, MPI_Status*) {
  const Inside inside;
  advance_all();
  *done = std::all_of(all, all + count, [](MPI_Request request) {
    return request == MPI_REQUEST_NULL || request_of(request)->is_done();
  });
  if (*done == 0) poll_in_vain();
  else std::for_each(all, all + count, [](MPI_Request& request) { end(&request, nullptr); });
  return MPI_SUCCESS;
}

namespace {

/// One that is done; `count` if none is, -1 if there is none.
int find_done(int count, const MPI_Request* all) {
  int found = -1;
  for (int r = 0; r < count; ++r) {
    if (all[r] == MPI_REQUEST_NULL) continue;
    if (request_of(all[r])->is_done()) return r;
    found = count;
  }
  return found;
}

void end_any(int count, MPI_Request* all, int which, int* index, MPI_Status* status) {
  *index = which < 0 || which == count ? MPI_UNDEFINED : which;
  if (*index != MPI_UNDEFINED) end(&all[which], status);
}

}  // namespace

int MPI_Testany(int count, MPI_Request* all, int* index, int* done, MPI_Status* status) {
  const Inside inside;
  advance_all();
  const int which = find_done(count, all);
  *done = which == count ? 0 : 1;
  if (*done == 0) poll_in_vain();
  end_any(count, all, which, index, status);
  return MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request* all, int* index, MPI_Status* status) {
  const Inside inside;
  int which = count;
  wait_until([&] { return (which = find_done(count, all)) != count; });
  end_any(count, all, which, index, status);
  return MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int* done, MPI_Status* status) {
  const Inside inside;
  advance_all();
  *done = request == MPI_REQUEST_NULL || request_of(request)->is_done() ? 1 : 0;
  if (*done == 0) poll_in_vain();
  else
    describe(request == MPI_REQUEST_NULL ? nullptr : request_of(request)->operation.get(), status);
  return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request* request) {
  const Inside inside;
  if (auto& operation = request_of(*request)->operation) withdraw(operation.get());
  return MPI_SUCCESS;
}

int MPI_Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status->cancelled;
  return MPI_SUCCESS;
}

namespace {

void describe(const Message* message, MPI_Status* status) {
  *status = {};
  status->MPI_SOURCE = envelope_of(message).from;
  status->MPI_TAG = envelope_of(message).tag;
  status->count = static_cast<int>(size_of(message));
}

Message* find(int source, int tag, MPI_Comm comm) {
  return find_message({members_of(comm).number, source == MPI_ANY_SOURCE ? any : source,
                       tag == MPI_ANY_TAG ? any : tag});
}

}  // namespace

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* found, MPI_Message* message,
                MPI_Status* status) {
  const Inside inside;
  advance_all();
  auto* one = find(source, tag, comm);
  *found = one != nullptr ? 1 : 0;
  *message = one;
  if (one != nullptr) describe(one, status);
  else poll_in_vain();
  return MPI_SUCCESS;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const Inside inside;
  Message* one = nullptr;
  wait_until([&] { return (one = find(source, tag, comm)) != nullptr; });
  describe(one, status);
  *message = one;
  return MPI_SUCCESS;
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  const Inside inside;
  auto* one = static_cast<Message*>(std::exchange(*message, nullptr));
  return hold(start_receiving(one, data, static_cast<size_t>(size_of(count, type))), request);
}

// The library has a type of its own only for what it discards.
int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Imrecv(type == MPI_BYTE ? data : nullptr, count, type, message, &request);
  return MPI_Wait(&request, status);
}

int MPI_Get_elements_x(MPI_Status* status, MPI_Datatype, MPI_Count* elements) {
  *elements = status->count;
  return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) {
  return create(comm, out, [&] { return PMPI_Comm_dup(comm, out); });
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* out) {
  return create(comm, out, [&] { return PMPI_Comm_split(comm, colour, key, out); });
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out) {
  return create(comm, out, [&] { return PMPI_Comm_split_type(comm, type, key, info, out); });
}

int MPI_Comm_free(MPI_Comm* comm) {
  const Inside inside;
  if (const auto at = members.find(std::pair{here(), *comm}); at != members.end())
    members.erase(at);
  return PMPI_Comm_free(comm);
}
}

// Memory that a rank frees is counted as its own, even if another rank allocated it.

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
