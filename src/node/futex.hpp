// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a word of shared memory until another process changes it. Nothing is held while one
// sleeps, so a process that dies leaves nothing locked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace pillion::node {

using Word = std::atomic<uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 4);

/// Sleeps while `word` is `seen`, until woken, or at most `patience`.
void sleep_on(Word& word, uint32_t seen, std::chrono::microseconds patience);
/// Wakes all who sleep on `word`.
void wake(Word& word);

}  // namespace pillion::node
