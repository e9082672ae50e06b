// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point messages and reductions without waiting.
#include "comm/message.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/default_environment.hpp"
#include "comm/agreement.hpp"
#include "comm/calls.hpp"

namespace pillion::comm {

ByteType::ByteType(size_t size) {
  constexpr size_t piece = size_t{1} << 20;
  const auto whole = static_cast<int>(size / piece);
  const auto rest = static_cast<int>(size % piece);
  MPI_Datatype pieces = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &pieces), "MPI_Type_contiguous");
  const int lengths[2] = {whole, rest};
  const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(whole) * static_cast<MPI_Aint>(piece)};
  const MPI_Datatype types[2] = {pieces, MPI_BYTE};
  check(MPI_Type_create_struct(2, lengths, places, types, &handle_), "MPI_Type_create_struct");
  check(MPI_Type_commit(&handle_), "MPI_Type_commit");
  check(MPI_Type_free(&pieces), "MPI_Type_free");
}

ByteType::~ByteType() {
  if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
}

Request::Request(Request&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_REQUEST_NULL)) {}

Request& Request::operator=(Request&& other) noexcept {
  handle_ = std::exchange(other.handle_, MPI_REQUEST_NULL);
  return *this;
}

bool Request::test() {
  int done = 0;
  check(MPI_Test(&handle_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

void Request::wait() { check(MPI_Wait(&handle_, MPI_STATUS_IGNORE), "MPI_Wait"); }

// A late rank keeps the others waiting, which are then late themselves by a part of that. With more
// than one step that part must be small, or meetings never get faster again.
double nap_after(double waited) {
  constexpr double part = 1.0 / 16, longest = 25e-3;  // seconds
  return std::min(part * waited, longest);
}

// Waits inside MPI keep a core busy. Under the clock of a simulator they cost nothing. MPI moves a
// reduction by some of its steps in each call, so a rank that wakes up calls it more than once.
void Request::wait_asleep() {
  constexpr double at_first = 100e-6, after_nap = 50e-6;  // seconds
  if (!base::is_system_clock()) return wait();
  const double begin = base::monotonic_seconds();
  for (double awake_until = begin + at_first; !test();) {
    const double now = base::monotonic_seconds();
    if (now < awake_until) {
      base::clock().yield();
    } else {
      base::clock().sleep(nap_after(now - begin));
      awake_until = base::monotonic_seconds() + after_nap;
    }
  }
}

std::optional<size_t> Request::received() {
  int done = 0;
  MPI_Status status;
  check(MPI_Test(&handle_, &done, &status), "MPI_Test");
  if (done == 0) return {};
  MPI_Count size = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &size), "MPI_Get_elements_x");
  return static_cast<size_t>(size);
}

// A receive that is withdrawn is done at once; one that a message has met is not touched, and can
// be tested as before.
bool Request::withdraw() {
  if (handle_ == MPI_REQUEST_NULL) return false;
  check(MPI_Cancel(&handle_), "MPI_Cancel");
  int done = 0, withdrawn = 0;
  MPI_Status status;
  check(MPI_Request_get_status(handle_, &done, &status), "MPI_Request_get_status");
  if (done != 0) check(MPI_Test_cancelled(&status, &withdrawn), "MPI_Test_cancelled");
  if (withdrawn != 0) wait();
  return withdrawn != 0;
}

// An array of requests is an array of handles.
std::optional<size_t> find_done(std::span<Request> requests, bool wait) {
  int index = MPI_UNDEFINED, found = 1;
  const auto count = static_cast<int>(requests.size());
  MPI_Request* handles = &requests.front().handle_;
  if (wait) check(MPI_Waitany(count, handles, &index, MPI_STATUS_IGNORE), "MPI_Waitany");
  else check(MPI_Testany(count, handles, &index, &found, MPI_STATUS_IGNORE), "MPI_Testany");
  if (found == 0 || index == MPI_UNDEFINED) return {};
  return static_cast<size_t>(index);
}

Request send(const Communicator& comm, const void* data, size_t size, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (size <= most_plain_bytes) {
    check(MPI_Isend(data, static_cast<int>(size), MPI_BYTE, to, tag, comm.handle(), &request),
          "MPI_Isend");
  } else {
    const ByteType type(size);
    check(MPI_Isend(data, 1, type.handle(), to, tag, comm.handle(), &request), "MPI_Isend");
  }
  return Request(request);
}

Request receive(const Communicator& comm, void* data, size_t size, int from, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (size <= most_plain_bytes) {
    check(MPI_Irecv(data, static_cast<int>(size), MPI_BYTE, from, tag, comm.handle(), &request),
          "MPI_Irecv");
  } else {
    const ByteType type(size);
    check(MPI_Irecv(data, 1, type.handle(), from, tag, comm.handle(), &request), "MPI_Irecv");
  }
  return Request(request);
}

namespace {

Arrival arrival_of(MPI_Message message, MPI_Status status) {
  MPI_Count size = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &size), "MPI_Get_elements_x");
  return {message, status.MPI_SOURCE, static_cast<size_t>(size)};
}

/// Takes a message for which there is no room, since its sender waits for that: all of it goes to
/// one small place, piece over piece.
void discard(Arrival& arrival) {
  std::array<std::byte, 4096> place;
  MPI_Datatype piece = MPI_DATATYPE_NULL, pieces = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(place.size()), MPI_BYTE, &piece),
        "MPI_Type_contiguous");
  check(MPI_Type_create_resized(piece, 0, 0, &pieces), "MPI_Type_create_resized");
  check(MPI_Type_commit(&pieces), "MPI_Type_commit");
  const auto count = static_cast<int>((arrival.size + place.size() - 1) / place.size());
  check(MPI_Mrecv(place.data(), count, pieces, &arrival.message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  check(MPI_Type_free(&pieces), "MPI_Type_free");
  check(MPI_Type_free(&piece), "MPI_Type_free");
}

}  // namespace

std::optional<Arrival> find_arrival(const Communicator& comm, int from, int tag) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int found = 0;
  check(MPI_Improbe(from, tag, comm.handle(), &found, &message, &status), "MPI_Improbe");
  if (found == 0) return {};
  return arrival_of(message, status);
}

base::Bytes take_next(const Communicator& comm, int from, int tag) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Mprobe(from, tag, comm.handle(), &message, &status), "MPI_Mprobe");
  Arrival arrival = arrival_of(message, status);
  base::Bytes bytes;
  try {
    bytes.resize(arrival.size);
  } catch (...) {
    discard(arrival);
    throw;
  }
  receive(arrival, bytes.data());
  return bytes;
}

void receive(Arrival& arrival, void* data) { start_receiving(arrival, data).wait(); }

Request start_receiving(Arrival& arrival, void* data) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (arrival.size <= most_plain_bytes) {
    check(MPI_Imrecv(data, static_cast<int>(arrival.size), MPI_BYTE, &arrival.message, &request),
          "MPI_Imrecv");
  } else {
    const ByteType type(arrival.size);
    check(MPI_Imrecv(data, 1, type.handle(), &arrival.message, &request), "MPI_Imrecv");
  }
  return Request(request);
}

Request start_maximum(const Communicator& comm, double* values, int count) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, comm.handle(), &request),
        "MPI_Iallreduce");
  return Request(request);
}

Request start_maximum(const Communicator& comm, int32_t* values, int count) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT32_T, MPI_MAX, comm.handle(), &request),
        "MPI_Iallreduce");
  return Request(request);
}

namespace {

// MPI adds in whatever call the program makes to it while the sum is under way. There arithmetic
// may trap, as infinity - infinity does, or round in another way.
void add(void* in, void* sums, int* count, MPI_Datatype*) {
  const base::DefaultArithmetic arithmetic;
  const auto* values = static_cast<const double*>(in);
  auto* const to = static_cast<double*>(sums);
  for (int i = 0; i < *count; ++i) to[i] += values[i];
}

MPI_Op sum_in_default_arithmetic() {
  static const MPI_Op operation = [] {
    MPI_Op made = MPI_OP_NULL;
    check(MPI_Op_create(&add, 1, &made), "MPI_Op_create");
    return made;
  }();
  return operation;
}

}  // namespace

Request start_sum(const Communicator& comm, double* values, int count) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, sum_in_default_arithmetic(),
                       comm.handle(), &request),
        "MPI_Iallreduce");
  return Request(request);
}

// Synchronous sends: when all of mine have been taken, I come to a barrier that does not block;
// when everyone is there, nothing is under way any more.

namespace {

MPI_Request send_synchronously(const Communicator& comm, const base::Bytes& bytes, int to,
                               int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (bytes.size() <= most_plain_bytes) {
    check(MPI_Issend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm.handle(),
                     &request),
          "MPI_Issend");
  } else {
    const ByteType type(bytes.size());
    check(MPI_Issend(bytes.data(), 1, type.handle(), to, tag, comm.handle(), &request),
          "MPI_Issend");
  }
  return request;
}

/// Takes a message that has come, if any has. Notes the failure if there is no room for it.
bool take_one(const Communicator& comm, int tag, SparseExchange::Messages& in,
              std::exception_ptr& failure) {
  auto arrival = find_arrival(comm, MPI_ANY_SOURCE, tag);
  if (!arrival) return false;
  try {
    auto& bytes = in[arrival->source];
    bytes.resize(arrival->size);
    receive(*arrival, bytes.data());
  } catch (...) {
    failure = std::current_exception();
    if (arrival->message != MPI_MESSAGE_NULL) discard(*arrival);
  }
  return true;
}

}  // namespace

SparseExchange::Messages SparseExchange::exchange(const Messages& out,
                                                  std::exception_ptr& failure) {
  comm_.expect_joined();
  const int tag = tag_ + (odd_ ? 1 : 0);
  odd_ = !odd_;
  std::vector<MPI_Request> sent;
  try {
    sent.reserve(out.size());
    for (const auto& [rank, bytes] : out)
      sent.push_back(send_synchronously(comm_, bytes, rank, tag));
  } catch (...) {
    failure = std::current_exception();
  }
  Messages in;
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool at_barrier = false;
  for (int over = 0; over == 0;) {
    while (take_one(comm_, tag, in, failure)) continue;
    if (at_barrier) {
      check(MPI_Test(&barrier, &over, MPI_STATUS_IGNORE), "MPI_Test");
      continue;
    }
    int all = 0;
    check(MPI_Testall(static_cast<int>(sent.size()), sent.data(), &all, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (all == 0) continue;
    check(MPI_Ibarrier(comm_.handle(), &barrier), "MPI_Ibarrier");
    at_barrier = true;
  }
  return in;
}

SparseExchange::Messages SparseExchange::operator()(const Messages& out) {
  std::exception_ptr failure;
  Messages in = exchange(out, failure);
  if (failure) std::rethrow_exception(failure);
  return in;
}

SparseExchange::Messages SparseExchange::made_by(Work<Messages> make) {
  std::exception_ptr failure;
  Messages out;
  try {
    out = make();
  } catch (...) {
    failure = std::current_exception();
  }
  // A rank that failed sends nothing, but takes what comes.
  Messages in = exchange(out, failure);
  together(comm_, [&] {
    if (failure) std::rethrow_exception(failure);
  });
  return in;
}

namespace {

// Of the call that a contribution to a maximum comes from, before its values: its kind, the step
// and the time, each with its negation. A sum has as many zeros.
constexpr size_t of_call = 6;

void put_call(const Call& call, std::span<double> to) {
  const auto kind = static_cast<double>(call.kind);
  const auto step = static_cast<double>(call.step);
  const double time = std::isnan(call.time) ? std::numeric_limits<double>::lowest() : call.time;
  const std::array<double, of_call> numbers{kind, -kind, step, -step, time, -time};
  std::copy(numbers.begin(), numbers.end(), to.begin());
}

Call call_of(double kind, double step, double time) {
  return {static_cast<CallKind>(static_cast<int32_t>(kind)), static_cast<int64_t>(step), time};
}

/// Why ranks part whose contributions come from such calls; nothing if they all come from one.
std::optional<Error> difference_in(std::span<const double> numbers) {
  return difference(call_of(-numbers[1], -numbers[3], -numbers[5]),
                    call_of(numbers[0], numbers[2], numbers[4]));
}

}  // namespace

void LaggedReduction::reserve(size_t values) {
  reserved_ = values;
  values_.reserve(of_call + values);
  calls_.reserve(of_call + values);
}

// The values under way are MPI's. A rank that gave others in their place would spoil what all ranks
// hear of it, without any error.
std::span<double> LaggedReduction::prepare(size_t count) {
  if (is_under_way_)
    base::fail(ErrorCode::Internal, "a reduction is prepared while the one before is under way");
  values_.assign(of_call + count, 0.0);
  return std::span(values_).subspan(of_call);
}

void LaggedReduction::start(const Call& call, Values& values, Request& request) const {
  if (ranks_.size() == 1) return;
  if (operation_ == Operation::Max) put_call(call, values);
  const auto count = static_cast<int>(values.size());
  request = operation_ == Operation::Sum ? start_sum(ranks_, values.data(), count)
                                         : start_maximum(ranks_, values.data(), count);
}

void LaggedReduction::compare(const Values& values) const {
  auto* calls = ranks_.calls();
  if (calls == nullptr || ranks_.size() == 1 || operation_ == Operation::Sum) return;
  if (auto why = difference_in(values)) calls->part(std::move(*why));
}

void LaggedReduction::start() {
  ranks_.expect_joined();
  start(ranks_.calls() != nullptr ? ranks_.calls()->now() : Call(), values_, request_);
  is_under_way_ = true;
}

std::optional<std::span<const double>> LaggedReduction::settle() {
  if (!is_under_way_) return {};
  ranks_.expect_joined();
  // Every rank has started this reduction, or comes to do so before it waits for anything else; or
  // it joins from another call, and the ranks part.
  request_.wait();
  is_under_way_ = false;
  compare(values_);
  return std::span<const double>(values_).subspan(of_call);
}

void LaggedReduction::join() {
  if (ranks_.size() <= 1 || is_joining_) return;
  ranks_.expect_joined();
  calls_.assign(of_call + reserved_, 0.0);
  start(ranks_.calls() != nullptr ? ranks_.calls()->now() : Call(), calls_, joining_);
  is_joining_ = true;
}

// A rank that waits for others to join has contributed that already.
void LaggedReduction::leave() noexcept {
  if (ranks_.size() <= 1 || is_joining_) return;
  try {
    calls_.assign(of_call + reserved_, 0.0);
    start({CallKind::Left}, calls_, joining_);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): then others may wait for it
  }
}

bool LaggedReduction::has_joined() {
  if (!is_joining_) return true;
  if (!joining_.test()) return false;
  is_joining_ = false;
  compare(calls_);
  return true;
}

}  // namespace pillion::comm
