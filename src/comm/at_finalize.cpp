// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize first frees MPI_COMM_SELF and so deletes its attributes (MPI 3.1, section 8.7.1).
#include "comm/at_finalize.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace pillion::comm {
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

void end_job_at_finalize(const Communicator& all, const Communicator& some) {
  int ranks = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  if (all.size() != ranks) return;
  // These live until the program ends, as no object can own them.
  auto* const waiting = new Communicator(some.handle());
  new AtFinalize([waiting] {
    std::fflush(nullptr);  // an aborted program writes nothing more
    waiting->barrier();
    if (waiting->rank() == 0) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    waiting->barrier();
  });
}

AtFinalize::~AtFinalize() { *action_ = nullptr; }

}  // namespace pillion::comm
