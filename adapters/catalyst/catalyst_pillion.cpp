// SPDX-License-Identifier: BSD-3-Clause
// The table that Catalyst looks for in libcatalyst-pillion.so. The structure, its version and the
// first numbers of statuses are those of Catalyst 2's interface. Nothing is thrown through it.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <pillion/error.hpp>

#include "adapter.hpp"

namespace {

using pillion::catalyst::Adapter;
using pillion::catalyst::Node;
using pillion::catalyst::RawNode;

/// catalyst_status_ok. Failures are numbers that Catalyst does not use: 200 and Pillion's own.
constexpr int ok = 0;
constexpr int first_failure = 200;

/// Never destroyed: a rank that ends alone must not wait for the others in there. MPI_Finalize
/// closes a session that the program has not closed.
std::unique_ptr<Adapter>& adapter = *new std::unique_ptr<Adapter>;

/// A program without MPI is one rank, which waits for no other.
void close_at_exit() { adapter.reset(); }

void print(const char* call, const char* problem) {
  std::fputs(fmt::format("pillion: error: {}: {}\n", call, problem).c_str(), stderr);
}

/// Of the simulation's, which need not have the first rank of the job.
bool is_first_rank(const RawNode* params) {
  if (adapter != nullptr) return adapter->rank() == 0;
  int initialized = 0, finalized = 0, rank = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) return true;
  MPI_Comm comm = MPI_COMM_WORLD;
  try {
    const Node node(pillion::catalyst::loaded_conduit(), params);
    if (const auto handle = pillion::catalyst::read_communicator(node))
      comm = MPI_Comm_f2c(static_cast<MPI_Fint>(*handle));
  } catch (const std::exception&) {
    return true;  // better several times than never
  }
  MPI_Comm_rank(comm, &rank);
  return rank == 0;
}

/// Whatever goes wrong is printed and returned. Ranks agree on errors of Pillion, so one prints.
template <class F>
int guard(const char* call, const RawNode* params, F&& body) noexcept {
  try {
    body();
    return ok;
  } catch (const pillion::catalyst::Reported& problem) {
    return first_failure + static_cast<int>(problem.code());
  } catch (const pillion::Error& problem) {
    if (is_first_rank(params)) print(call, problem.what());
    return first_failure + static_cast<int>(problem.code());
  } catch (const std::exception& problem) {
    print(call, problem.what());
  } catch (...) {
    print(call, "an unknown exception");
  }
  return first_failure + PILLION_ERROR_INTERNAL;
}

/// Catalyst's own implementation writes nodes to disk if the user wants to replay them.
void record(const char* function, const RawNode* params) {
  const char* folder = std::getenv("CATALYST_DATA_DUMP_DIRECTORY");
  if (folder == nullptr || *folder == '\0') return;
  using Function = int(const RawNode*);
  if (auto* write = reinterpret_cast<Function*>(pillion::catalyst::find_in_catalyst(function)))
    write(params);
}

int initialize(const RawNode* params) {
  return guard("catalyst_initialize", params, [&] {
    record("catalyst_stub_initialize", params);
    if (adapter != nullptr)
      throw pillion::Error(pillion::ErrorCode::State,
                           "it was called twice; call catalyst_finalize first");
    const Node node(pillion::catalyst::loaded_conduit(), params);
    adapter = std::make_unique<Adapter>(pillion::catalyst::read_options(node));
    if (adapter->owns_mpi()) std::atexit(close_at_exit);
  });
}

int execute(const RawNode* params) {
  return guard("catalyst_execute", params, [&] {
    record("catalyst_stub_execute", params);
    if (adapter != nullptr) adapter->execute(Node(pillion::catalyst::loaded_conduit(), params));
  });
}

int finalize(const RawNode* params) {
  return guard("catalyst_finalize", params, [&] {
    record("catalyst_stub_finalize", params);
    const auto last = std::move(adapter);
    if (last != nullptr) last->finalize();
  });
}

int about(RawNode* params) {
  return guard("catalyst_about", params, [&] {
    using Function = int(RawNode*);
    const auto& api = pillion::catalyst::loaded_conduit();
    if (auto* of_catalyst =
            reinterpret_cast<Function*>(pillion::catalyst::find_in_catalyst("catalyst_stub_about")))
      of_catalyst(params);
    api.set_text(params, "catalyst/implementation", "pillion");
    api.set_text(params, "catalyst/pillion/version", pillion_version());
  });
}

int results(RawNode* params) {
  return guard("catalyst_results", params, [&] {
    if (adapter != nullptr) adapter->results(pillion::catalyst::loaded_conduit(), params);
  });
}

}  // namespace

extern "C" {

struct catalyst_impl {
  int version;
  int (*initialize)(const RawNode*);
  int (*execute)(const RawNode*);
  int (*finalize)(const RawNode*);
  int (*about)(RawNode*);
  int (*results)(RawNode*);
};

__attribute__((visibility("default"))) extern const catalyst_impl catalyst_api_impl;
const catalyst_impl catalyst_api_impl = {1, initialize, execute, finalize, about, results};
}
