// SPDX-License-Identifier: BSD-3-Clause
// The futex system call, for words that several processes map.
#include "node/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace pillion::node {

void sleep_on(Word& word, uint32_t seen, std::chrono::microseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec limit{.tv_sec = static_cast<time_t>(seconds.count()),
                       .tv_nsec = static_cast<long>((patience - seconds).count() * 1000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake(Word& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace pillion::node
