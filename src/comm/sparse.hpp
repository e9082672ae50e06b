// SPDX-License-Identifier: BSD-3-Clause
// Messages whose receivers do not expect them: nonblocking consensus, as in T. Hoefler, C. Siebert,
// A. Lumsdaine: Scalable communication protocols for dynamic sparse data exchange, PPoPP 2010.
// Nothing is as long as the number of ranks.
#pragma once

#include <map>

#include "base/bytes.hpp"
#include "comm/communicator.hpp"

namespace pillion::comm {

class SparseExchange {
 public:
  /// `tag` and `tag + 1` must be used for nothing else on the communicator, which must stay.
  SparseExchange(const Communicator& comm, int tag) : comm_(comm), tag_(tag) {}
  /// Sends out[r] to rank r; returns what was sent here, by rank. [collective]
  std::map<int, base::Bytes> operator()(const std::map<int, base::Bytes>& out);

 private:
  const Communicator& comm_;
  int tag_;
  bool odd_ = false;  ///< a rank may be one exchange ahead, never two
};

}  // namespace pillion::comm
