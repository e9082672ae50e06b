// SPDX-License-Identifier: BSD-3-Clause
// Collectives and lifetimes of communicators, and what is done in MPI_Finalize.
#include "comm/communicator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/default_environment.hpp"
#include "comm/agreement.hpp"
#include "comm/calls.hpp"
#include "comm/message.hpp"

namespace pillion::comm {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  base::fail(ErrorCode::Internal, "{} failed: {}", call, std::string(text, length));
}

Communicator::Communicator(MPI_Comm parent) {
  check(MPI_Comm_dup(parent, &handle_), "MPI_Comm_dup");
  measure();
}

Communicator Communicator::adopt(MPI_Comm handle) const {
  Communicator out;
  out.handle_ = handle;
  if (handle == MPI_COMM_NULL) return out;
  out.measure();
  out.calls_ = calls_;
  return out;
}

void Communicator::expect_joined() const {
  if (calls_) calls_->expect_joined();
}

void Communicator::measure() {
  check(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(handle_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(handle_, &size_), "MPI_Comm_size");
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      rank_(std::exchange(other.rank_, -1)),
      size_(std::exchange(other.size_, 0)),
      calls_(std::move(other.calls_)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this == &other) return *this;
  release();
  handle_ = std::exchange(other.handle_, MPI_COMM_NULL);
  rank_ = std::exchange(other.rank_, -1);
  size_ = std::exchange(other.size_, 0);
  calls_ = std::move(other.calls_);
  return *this;
}

Communicator::~Communicator() { release(); }

// A session that outlives MPI_Finalize has nothing left to free.
void Communicator::release() noexcept {
  int finalized = 0;
  if (handle_ == MPI_COMM_NULL || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0)
    return;
  MPI_Comm_free(&handle_);
}

Communicator Communicator::duplicate() const {
  expect_joined();
  MPI_Comm out = MPI_COMM_NULL;
  check(MPI_Comm_dup(handle_, &out), "MPI_Comm_dup");
  return adopt(out);
}

Communicator Communicator::split(int colour) const {
  expect_joined();
  MPI_Comm out = MPI_COMM_NULL;
  check(MPI_Comm_split(handle_, colour < 0 ? MPI_UNDEFINED : colour, rank_, &out),
        "MPI_Comm_split");
  return adopt(out);
}

Communicator Communicator::split_by_node() const {
  expect_joined();
  MPI_Comm out = MPI_COMM_NULL;
  check(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &out),
        "MPI_Comm_split_type");
  return adopt(out);
}

void Communicator::barrier() const {
  expect_joined();
  check(MPI_Barrier(handle_), "MPI_Barrier");
}

void Communicator::broadcast(base::Bytes& bytes, int root) const {
  expect_joined();
  auto size = static_cast<int64_t>(bytes.size());
  check(MPI_Bcast(&size, 1, MPI_INT64_T, root, handle_), "MPI_Bcast");
  bytes.resize(static_cast<size_t>(size));
  if (size > 0) broadcast(std::span(bytes), root);
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) const {
  expect_joined();
  if (bytes.size() <= most_plain_bytes) {
    check(MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, root, handle_),
          "MPI_Bcast");
    return;
  }
  const ByteType type(bytes.size());
  check(MPI_Bcast(bytes.data(), 1, type.handle(), root, handle_), "MPI_Bcast");
}

void Communicator::broadcast(std::string& text, int root) const {
  base::Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  broadcast(bytes, root);
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

namespace {

MPI_Op to_mpi(Operation operation) {
  switch (operation) {
    case Operation::Sum: return MPI_SUM;
    case Operation::Min: return MPI_MIN;
    default: return MPI_MAX;
  }
}

template <class T>
void reduce_in_pieces(T* values, int64_t count, MPI_Datatype type, Operation operation,
                      MPI_Comm comm) {
  constexpr int64_t piece = int64_t{1} << 28;
  for (int64_t at = 0; at < count; at += piece)
    check(MPI_Allreduce(MPI_IN_PLACE, values + at, static_cast<int>(std::min(piece, count - at)),
                        type, to_mpi(operation), comm),
          "MPI_Allreduce");
}

}  // namespace

void Communicator::reduce(int32_t* values, int64_t count, Operation operation) const {
  expect_joined();
  reduce_in_pieces(values, count, MPI_INT32_T, operation, handle_);
}
void Communicator::reduce(int64_t* values, int64_t count, Operation operation) const {
  expect_joined();
  reduce_in_pieces(values, count, MPI_INT64_T, operation, handle_);
}
void Communicator::reduce(float* values, int64_t count, Operation operation) const {
  expect_joined();
  reduce_in_pieces(values, count, MPI_FLOAT, operation, handle_);
}
void Communicator::reduce(double* values, int64_t count, Operation operation) const {
  expect_joined();
  reduce_in_pieces(values, count, MPI_DOUBLE, operation, handle_);
}

std::vector<int64_t> Communicator::gather_all(int64_t value) const {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  gather_all(value, all);
  return all;
}

void Communicator::gather_all(int64_t value, std::span<int64_t> all) const {
  expect_joined();
  check(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, handle_),
        "MPI_Allgather");
}

int64_t Communicator::sum_below(int64_t value) const {
  expect_joined();
  int64_t sum = 0;
  check(MPI_Exscan(&value, &sum, 1, MPI_INT64_T, MPI_SUM, handle_), "MPI_Exscan");
  return rank_ == 0 ? 0 : sum;  // MPI leaves that of the first rank undefined
}

namespace {

/// Equal values of neighbouring ranks, or values that differ by `step` from one to the next.
/// Unsigned, since differences of any values must have a meaning.
struct ValueRun {
  uint64_t count = 1;
  uint64_t first = 0;
  uint64_t step = 0;

  [[nodiscard]] uint64_t value(uint64_t i) const { return first + i * step; }
};

void append(std::vector<ValueRun>& runs, const ValueRun& next) {
  // Any two values are a run, so a pair may continue what is before it, or be two parts.
  if (next.count == 2) {
    append(runs, {1, next.value(0), 0});
    append(runs, {1, next.value(1), 0});
    return;
  }
  if (!runs.empty()) {
    auto& last = runs.back();
    const uint64_t step = last.count == 1 ? next.first - last.first : last.step;
    const bool has_step = next.count == 1 || next.step == step;
    if (has_step && last.first + step * last.count == next.first) {
      last = {last.count + next.count, last.first, step};
      return;
    }
  }
  runs.push_back(next);
}

const auto joined_runs = [](const base::Bytes& lower, const base::Bytes& higher) {
  auto runs = base::from_bytes<std::vector<ValueRun>>(lower);
  for (const auto& next : base::from_bytes<std::vector<ValueRun>>(higher)) append(runs, next);
  return base::to_bytes(runs);
};

}  // namespace

std::vector<int64_t> Communicator::gather_all_runs(int64_t value) const {
  base::Bytes bytes;
  together(*this, [&] {
    bytes = base::to_bytes(std::vector<ValueRun>{{1, static_cast<uint64_t>(value), 0}});
  });
  std::exception_ptr failure;
  try {
    bytes = fold(std::move(bytes), joined_runs);
  } catch (...) {
    failure = std::current_exception();
  }
  bytes = broadcast_made(*this, 0, [&] {
    if (failure) std::rethrow_exception(failure);
    return std::move(bytes);
  });
  std::vector<int64_t> all;
  together(*this, [&] {
    all.reserve(static_cast<size_t>(size_));
    for (const auto& run : base::from_bytes<std::vector<ValueRun>>(bytes))
      for (uint64_t i = 0; i < run.count; ++i) all.push_back(static_cast<int64_t>(run.value(i)));
  });
  return all;
}

// A binomial tree as in fold(), in which ranks are counted from the root. Each rank passes on what
// it has from the ranks behind it, with their numbers and sizes. One that lacks memory for that
// passes on less, so that no other waits for it.
std::vector<base::Bytes> Communicator::gather(const base::Bytes& bytes, int root) const {
  expect_joined();
  const int place = (rank_ - root + size_) % size_;
  const auto rank_at = [&](int other) { return (other + root) % size_; };
  base::ByteWriter mine;
  std::vector<base::Bytes> parts;
  std::exception_ptr failure;
  try {
    mine.put(static_cast<int64_t>(rank_));
    mine.put(bytes);
  } catch (...) {
    failure = std::current_exception();
    mine = {};
  }
  for (int step = 1; step < size_; step *= 2) {
    if (place % (2 * step) != 0) {
      // The parent receives this as soon as it has finished the earlier rounds.
      send(*this, mine.bytes().data(), mine.bytes().size(), rank_at(place - step), tags::gathered)
          .wait();
      break;
    }
    if (place + step >= size_) continue;
    try {
      auto part = take_next(*this, rank_at(place + step), tags::gathered);
      if (place == 0) parts.push_back(std::move(part));
      else mine.put_raw(part.data(), part.size());
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  std::vector<base::Bytes> all;
  if (place != 0) return all;
  all.resize(static_cast<size_t>(size_));
  all[static_cast<size_t>(root)] = bytes;
  for (auto& part : parts) {
    for (base::ByteReader in(part); !in.done();) {
      const auto rank = static_cast<size_t>(in.get<int64_t>());
      all.at(rank) = in.get<base::Bytes>();
    }
    part = {};
  }
  return all;
}

// The root takes one message after the other; MPI keeps a large one with its sender until then.
void Communicator::gather_each(std::span<const std::byte> mine, int root,
                               Work<void, int, std::span<const std::byte>> use) const {
  expect_joined();
  if (rank_ != root) return send(*this, mine.data(), mine.size(), root, tags::gathered_each).wait();
  std::exception_ptr failure;
  for (int r = 0; r < size_; ++r) {
    try {
      const auto other = r == root ? base::Bytes() : take_next(*this, r, tags::gathered_each);
      if (!failure) use(r, r == root ? mine : std::span(other));
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// A binomial tree: in round k, ranks that are odd multiples of 2^k send to the multiple below.
base::Bytes Communicator::fold(base::Bytes mine, Join join) const {
  expect_joined();
  std::exception_ptr failure;
  for (int step = 1; step < size_; step *= 2) {
    if (rank_ % (2 * step) != 0) {
      // The parent receives this as soon as it has finished the earlier rounds.
      send(*this, mine.data(), mine.size(), rank_ - step, tags::folded).wait();
      break;
    }
    if (rank_ + step >= size_) continue;
    try {
      const auto higher = take_next(*this, rank_ + step, tags::folded);
      mine = join(mine, higher);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return mine;
}

void expect_mpi() {
  int initialised = 0, finalized = 0;
  check(MPI_Initialized(&initialised), "MPI_Initialized");
  check(MPI_Finalized(&finalized), "MPI_Finalized");
  if (initialised == 0)
    base::fail(ErrorCode::State, "MPI is not running yet; call MPI_Init before this");
  if (finalized != 0) base::fail(ErrorCode::State, "MPI has ended; call this before MPI_Finalize");
}

void expect_usable(MPI_Comm comm) {
  expect_mpi();
  if (comm == MPI_COMM_NULL) base::fail(ErrorCode::Argument, "the communicator is MPI_COMM_NULL");
  int between_groups = 0;
  check(MPI_Comm_test_inter(comm, &between_groups), "MPI_Comm_test_inter");
  if (between_groups != 0)
    base::fail(ErrorCode::Argument,
               "the communicator is an intercommunicator; merge its groups with "
               "MPI_Intercomm_merge, or give an intracommunicator");
}

MPI_Comm from_fortran(MPI_Fint handle) { return MPI_Comm_f2c(handle); }
MPI_Fint to_fortran(MPI_Comm handle) { return MPI_Comm_c2f(handle); }

// MPI_Finalize first frees MPI_COMM_SELF and so deletes its attributes (MPI 3.1, section 8.7.1).

namespace {

using Action = std::function<void()>;

// The attribute outlives the object, since an attribute must not be deleted while others are.
int run_action(MPI_Comm, int, void* attribute, void*) {
  const std::unique_ptr<std::shared_ptr<Action>> held(
      static_cast<std::shared_ptr<Action>*>(attribute));
  const Action action = std::exchange(**held, nullptr);
  const base::DefaultEnvironment environment;
  // MPI is written in C: an exception that passed through it would end the program.
  try {
    if (action) action();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pillion: error: at MPI_Finalize: %s\n", e.what());
  }
  return MPI_SUCCESS;
}

}  // namespace

AtFinalize::AtFinalize(Action action) : action_(std::make_shared<Action>(std::move(action))) {
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &run_action, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, new std::shared_ptr<Action>(action_)),
        "MPI_Comm_set_attr");
  check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
}

bool end_job_at_finalize(const Communicator& all, const Communicator& some,
                         std::function<bool()> must_end) {
  int ranks = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  if (all.size() != ranks) return false;
  // These live until the program ends, as no object can own them.
  Communicator* waiting = nullptr;
  together(some, [&] {
    waiting = new Communicator;
    new AtFinalize([waiting, must_end = std::move(must_end)] {
      if (!*waiting) return;
      std::fflush(nullptr);  // an aborted program writes nothing more
      waiting->barrier();
      if (waiting->rank() == 0 && (!must_end || must_end()))
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
      waiting->barrier();
    });
  });
  *waiting = Communicator(some.handle());
  return true;
}

AtFinalize::~AtFinalize() { *action_ = nullptr; }

}  // namespace pillion::comm
