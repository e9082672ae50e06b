// SPDX-License-Identifier: BSD-3-Clause
// The C interface for attaching, wrapped as pillion.cpp wraps the rest.
#include <pillion/attach.h>

#include <atomic>

#include "base/guard.hpp"
#include "capi/options.hpp"
#include "comm/communicator.hpp"
#include "run/attached_job.hpp"
#include "sidecar/sidecar_job.hpp"

using pillion::base::guard;

namespace {

using pillion::capi::text_or_nothing;

std::atomic<bool> leave_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

extern "C" {

pillion_status pillion_attach(const char* run, const char* analyses, const char* name,
                              double patience, MPI_Comm comm, const pillion_options* options,
                              int32_t* ending) {
  return guard([&] {
    if (run == nullptr || *run == '\0')
      pillion::base::fail(pillion::ErrorCode::Argument, "the name of the run is missing");
    pillion::comm::expect_usable(comm);
    const auto given = options == nullptr ? pillion::session::Options() : options->options;
    pillion::sidecar::SidecarJob sidecar_job(
        {run, text_or_nothing(analyses), given.parameters, text_or_nothing(name), patience,
         given.log, [] { return leave_wanted.load(); }},
        comm);
    const auto how = sidecar_job.work();
    if (ending != nullptr) *ending = static_cast<int32_t>(how);
  });
}

void pillion_leave(void) { leave_wanted = true; }

const char* pillion_runs(void) {
  static thread_local std::string text;
  guard([&] { text = pillion::run::describe_runs(pillion::node::find_runs()); });
  return text.c_str();
}

pillion_status pillion_answer(int32_t in, int32_t out) {
  return guard([&] { pillion::run::answer_cut_fields(in, out); });
}

}  // extern "C"
