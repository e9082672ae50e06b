// SPDX-License-Identifier: BSD-3-Clause
// Collectives and lifetimes of communicators, and what is done in MPI_Finalize.
#include "comm/communicator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

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

Communicator Communicator::adopt(MPI_Comm handle) {
  Communicator out;
  out.handle_ = handle;
  if (handle != MPI_COMM_NULL) out.measure();
  return out;
}

void Communicator::measure() {
  check(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(handle_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(handle_, &size_), "MPI_Comm_size");
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      rank_(std::exchange(other.rank_, -1)),
      size_(std::exchange(other.size_, 0)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this == &other) return *this;
  release();
  handle_ = std::exchange(other.handle_, MPI_COMM_NULL);
  rank_ = std::exchange(other.rank_, -1);
  size_ = std::exchange(other.size_, 0);
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

Communicator Communicator::split(int colour) const {
  MPI_Comm out = MPI_COMM_NULL;
  check(MPI_Comm_split(handle_, colour < 0 ? MPI_UNDEFINED : colour, rank_, &out),
        "MPI_Comm_split");
  return adopt(out);
}

Communicator Communicator::split_by_node() const {
  MPI_Comm out = MPI_COMM_NULL;
  check(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &out),
        "MPI_Comm_split_type");
  return adopt(out);
}

void Communicator::barrier() const { check(MPI_Barrier(handle_), "MPI_Barrier"); }

void Communicator::broadcast(base::Bytes& bytes, int root) const {
  auto size = static_cast<int64_t>(bytes.size());
  check(MPI_Bcast(&size, 1, MPI_INT64_T, root, handle_), "MPI_Bcast");
  bytes.resize(static_cast<size_t>(size));
  broadcast(std::span(bytes), root);
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) const {
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
  reduce_in_pieces(values, count, MPI_INT32_T, operation, handle_);
}
void Communicator::reduce(int64_t* values, int64_t count, Operation operation) const {
  reduce_in_pieces(values, count, MPI_INT64_T, operation, handle_);
}
void Communicator::reduce(float* values, int64_t count, Operation operation) const {
  reduce_in_pieces(values, count, MPI_FLOAT, operation, handle_);
}
void Communicator::reduce(double* values, int64_t count, Operation operation) const {
  reduce_in_pieces(values, count, MPI_DOUBLE, operation, handle_);
}

std::vector<int64_t> Communicator::gather_all(int64_t value) const {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  check(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, handle_),
        "MPI_Allgather");
  return all;
}

std::vector<base::Bytes> Communicator::gather(const base::Bytes& bytes, int root) const {
  const auto sizes = gather_all(static_cast<int64_t>(bytes.size()));
  constexpr int tag = tags::gathered;
  Request sent = send(*this, bytes.data(), bytes.size(), root, tag);
  std::vector<base::Bytes> all;
  if (rank_ == root)
    for (int r = 0; r < size_; ++r) {
      all.emplace_back(static_cast<size_t>(sizes[r]));
      receive(*this, all.back().data(), all.back().size(), r, tag).wait();
    }
  sent.wait();
  return all;
}

// A binomial tree: in round k, ranks that are odd multiples of 2^k send to the multiple below.
base::Bytes Communicator::fold(
    base::Bytes mine,
    const std::function<base::Bytes(const base::Bytes&, const base::Bytes&)>& join) const {
  std::exception_ptr failure;
  for (int step = 1; step < size_; step *= 2) {
    if (rank_ % (2 * step) != 0) {
      // The parent receives this as soon as it has finished the earlier rounds.
      send(*this, mine.data(), mine.size(), rank_ - step, tags::folded).wait();
      break;
    }
    if (rank_ + step >= size_) continue;
    const auto higher = take_next(*this, rank_ + step, tags::folded);
    try {
      mine = join(mine, higher);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return mine;
}

std::vector<base::Bytes> Communicator::exchange(const std::vector<base::Bytes>& out) const {
  std::vector<int64_t> give(static_cast<size_t>(size_)), take(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) give[r] = static_cast<int64_t>(out[r].size());
  check(MPI_Alltoall(give.data(), 1, MPI_INT64_T, take.data(), 1, MPI_INT64_T, handle_),
        "MPI_Alltoall");
  constexpr int tag = tags::exchanged;
  std::vector<base::Bytes> in(static_cast<size_t>(size_));
  std::vector<Request> pending;
  for (int r = 0; r < size_; ++r) {
    in[r].resize(static_cast<size_t>(take[r]));
    if (r != rank_ && take[r] != 0)
      pending.push_back(receive(*this, in[r].data(), in[r].size(), r, tag));
  }
  for (int shift = 1; shift < size_; ++shift) {
    const int r = (rank_ + shift) % size_;
    if (give[r] != 0) pending.push_back(send(*this, out[r].data(), out[r].size(), r, tag));
  }
  if (give[rank_] != 0) in[rank_] = out[rank_];
  for (auto& request : pending) request.wait();
  return in;
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
  auto* const waiting = new Communicator(some.handle());
  new AtFinalize([waiting, must_end = std::move(must_end)] {
    std::fflush(nullptr);  // an aborted program writes nothing more
    waiting->barrier();
    if (waiting->rank() == 0 && (!must_end || must_end())) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    waiting->barrier();
  });
  return true;
}

AtFinalize::~AtFinalize() { *action_ = nullptr; }

}  // namespace pillion::comm
