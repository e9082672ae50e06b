// SPDX-License-Identifier: BSD-3-Clause
// Something to be done when the program calls MPI_Finalize, while MPI can still be used.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace pillion::comm {

class AtFinalize {
 public:
  /// `action` is called at the start of MPI_Finalize unless this object is gone by then.
  explicit AtFinalize(std::function<void()> action);
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;
  ~AtFinalize();

 private:
  std::shared_ptr<std::function<void()>> action_;
};

/// Ends the whole job when all ranks of `some` have come to MPI_Finalize: for jobs with other ranks
/// that will never come. Does nothing if the job has ranks that are not in `all`. [collective over
/// `some`]
void end_job_at_finalize(const Communicator& all, const Communicator& some);

}  // namespace pillion::comm
