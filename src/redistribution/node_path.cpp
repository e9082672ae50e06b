// SPDX-License-Identifier: BSD-3-Clause
// Each rank's memory: a few words about each neighbour, then what goes to each.
#include "redistribution/node_path.hpp"

#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "comm/agreement.hpp"
#include "node/process.hpp"

namespace pillion::redistribution {

using node::SharedFile;

Neighbours::Neighbours(const comm::Communicator& ranks, comm::Communicator on_node)
    : on_node_(std::move(on_node)), me_(ranks.rank()) {
  std::vector<int64_t> all;
  comm::together(ranks, [&] { all.resize(static_cast<size_t>(on_node_.size())); });
  on_node_.gather_all(ranks.rank(), all);
  comm::together(ranks, [&] {
    for (size_t r = 0; r < all.size(); ++r) places_[static_cast<int>(all[r])] = static_cast<int>(r);
  });
}

std::optional<int> Neighbours::find(int rank) const {
  const auto at = places_.find(rank);
  if (rank == me_ || at == places_.end()) return {};
  return at->second;
}

/// What one rank says about its dealings with another: bytes since the memory was made.
struct NodePath::Words {
  alignas(64) std::atomic<uint64_t> written;
  std::atomic<uint64_t> read;
  uint64_t offset;  ///< of what goes to it; set before it is written
};

size_t NodePath::head_of(const comm::Communicator& node) {
  return node::whole_pages(SharedFile::head + static_cast<size_t>(node.size()) * sizeof(Words));
}

NodePath::Words& NodePath::words(int owner, int about) const {
  std::byte* const first = maps_[static_cast<size_t>(owner)].data() + SharedFile::head;
  return reinterpret_cast<Words*>(first)[about];
}

namespace {

/// Whether a deed succeeded on every rank. Keeps why it did not on this one.
template <class Deed>
bool on_all(const comm::Communicator& ranks, std::exception_ptr& failure, Deed&& deed) {
  int32_t done = 1;
  try {
    deed();
  } catch (const std::exception&) {
    failure = std::current_exception();
    done = 0;
  }
  return ranks.reduced(done, comm::Operation::Min) != 0;
}

}  // namespace

size_t NodePath::bytes_for(const Sizes& sizes) {
  size_t bytes = 0;
  for (const auto& [rank, size] : sizes) bytes += node::whole_pages(size);
  return bytes;
}

std::optional<NodePath> NodePath::make(const Neighbours& neighbours, size_t bytes,
                                       std::exception_ptr& failure) {
  const auto& node = neighbours.on_node();
  const size_t size = head_of(node) + bytes;
  NodePath path;
  path.me_ = node.rank();
  node::FileAddress mine;
  std::vector<int64_t> processes, descriptors, nonces, lengths;
  const bool made = on_all(node, failure, [&] {
    for (auto* all : {&processes, &descriptors, &nonces, &lengths})
      all->resize(static_cast<size_t>(node.size()));
    path.own_file_ = SharedFile::make(node::memory_folder, size);
    path.own_file_.reserve(0, size);
    mine = path.own_file_.address();
  });
  if (!made) return {};
  node.gather_all(static_cast<int64_t>(mine.process), processes);
  node.gather_all(mine.descriptor, descriptors);
  node.gather_all(static_cast<int64_t>(mine.nonce), nonces);
  node.gather_all(static_cast<int64_t>(size), lengths);
  const bool mapped = on_all(node, failure, [&] {
    for (size_t r = 0; r < lengths.size(); ++r) {
      const auto length = static_cast<size_t>(lengths[r]);
      if (static_cast<int>(r) == path.me_) {
        path.maps_.push_back(path.own_file_.map(0, length, SharedFile::Access::Write));
        continue;
      }
      const auto theirs =
          SharedFile::open({static_cast<node::Token>(processes[r]),
                            static_cast<int32_t>(descriptors[r]), static_cast<uint64_t>(nonces[r])},
                           SharedFile::Access::Read);
      path.maps_.push_back(theirs.map(0, length, SharedFile::Access::Read));
    }
  });
  if (!mapped) return {};
  path.head_ = head_of(node);
  return path;
}

void NodePath::divide_for(uint64_t plan, const Sizes& sizes) {
  if (plan == plan_) return;
  const auto ranks = static_cast<int>(maps_.size());
  // What other plans wrote may lie anywhere. Readers come to it before they wait for this rank.
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me_) (void)begin_writing(rank);
  size_t at = head_;
  for (const auto& [rank, bytes] : sizes) {
    words(me_, rank).offset = at;
    at += node::whole_pages(bytes);
  }
  plan_ = plan;
}

std::byte* NodePath::begin_writing(int to) const {
  const auto& mine = words(me_, to);
  const auto& theirs = words(to, me_);
  // Until the peer has read all of the exchange before. Acquire: its reads come before the writes
  // that follow here. It gets there: exchanges have the same order on all ranks.
  while (theirs.read.load(std::memory_order_acquire) != mine.written.load()) base::clock().yield();
  return maps_[static_cast<size_t>(me_)].data() + mine.offset;
}

void NodePath::wrote(int to, size_t bytes) const {
  auto& mine = words(me_, to);
  // Only this rank writes the word. Release: the values come before their count.
  mine.written.store(mine.written.load(std::memory_order_relaxed) + bytes,
                     std::memory_order_release);
}

const std::byte* NodePath::begin_reading(int from) const {
  return maps_[static_cast<size_t>(from)].data() + words(from, me_).offset;
}

size_t NodePath::unread(int from) const {
  // Acquire: the values that are counted can be read. The other word is this rank's own.
  return words(from, me_).written.load(std::memory_order_acquire) -
         words(me_, from).read.load(std::memory_order_relaxed);
}

void NodePath::did_read(int from, size_t bytes) const {
  auto& mine = words(me_, from);
  // Release: reads of the values come before the peer learns that it may write over them.
  mine.read.store(mine.read.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

TransferMemory::Largest TransferMemory::largest_needs() {
  std::erase_if(needs_, [](const auto& need) { return need.expired(); });
  Largest largest;
  for (const auto& need : needs_)
    if (const auto held = need.lock()) {
      largest.node = std::max(largest.node, NodePath::bytes_for(held->sizes));
      largest.sent = std::max(largest.sent, held->sent);
      largest.received = std::max(largest.received, held->received);
    }
  return largest;
}

std::shared_ptr<TransferMemory::Need> TransferMemory::add_plan() {
  auto need = std::make_shared<Need>(Need{++plans_});
  needs_.push_back(need);
  return need;
}

bool TransferMemory::reserve(Need& need, NodePath::Sizes sizes) {
  need.sizes = std::move(sizes);
  const size_t largest = largest_needs().node;
  // Whether some rank lacks memory, and what all ranks of the node need and have.
  const bool lacks = !path_ || NodePath::bytes_for(need.sizes) > capacity_;
  int64_t all[3] = {lacks ? 1 : 0, static_cast<int64_t>(largest), static_cast<int64_t>(capacity_)};
  neighbours_->on_node().reduce(all, 3, comm::Operation::Sum);
  if (static_cast<size_t>(all[1]) > budget_) {
    ++refused_;
    need.sizes.clear();
    return false;
  }
  const bool is_wasteful = all[2] > 2 * all[1];
  if (all[0] > 0 || is_wasteful) {
    path_.reset();
    path_ = NodePath::make(*neighbours_, largest, failure_);
    capacity_ = path_ ? largest : 0;
    most_ = std::max(most_, capacity_);
  }
  if (!path_) need.sizes.clear();
  return path_.has_value();
}

void TransferMemory::trim() {
  const auto largest = largest_needs();
  sending.shrink(largest.sent);
  receiving.shrink(largest.received);
}

}  // namespace pillion::redistribution
