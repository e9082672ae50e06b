// SPDX-License-Identifier: BSD-3-Clause
// Slabs and the free parts of them. Memory is put behind a region when it is taken, and goes back
// to the machine, page by page, when all that lies in a page is free; what stays is room in the
// file, which costs nothing.
#include "node/region_pool.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace pillion::node {
namespace {

constexpr size_t alignment = 64;
constexpr size_t smallest_slab = size_t{1} << 20;
constexpr size_t largest_shared_slab = size_t{64} << 20;

size_t up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

/// Rounded up to an eighth of a power of two, so that slabs for regions of one kind have one size.
size_t rounded(size_t size) {
  size_t step = smallest_slab;
  while (step * 16 < size) step *= 2;
  return up(size, step);
}

}  // namespace

/// Regions may be given back from any thread, so all of it is guarded.
struct RegionPool::State {
  explicit State(size_t unit_of_regions) : unit(unit_of_regions) {}

  struct Slab {
    uint64_t offset = 0;
    Mapping memory;
  };
  using Place = std::pair<size_t, size_t>;  ///< a slab, and an offset in it

  size_t unit;
  std::mutex mutex;
  std::vector<Slab> slabs;
  size_t total = 0;              ///< bytes of all slabs
  std::map<Place, size_t> free;  ///< sizes of free parts
  std::set<std::tuple<size_t, size_t, size_t>> by_size;

  void add_free(const Place& at, size_t size) {
    free[at] = size;
    by_size.insert({size, at.first, at.second});
  }
  void remove_free(std::map<Place, size_t>::iterator part) {
    by_size.erase({part->second, part->first.first, part->first.second});
    free.erase(part);
  }
  /// Adds a part that is free, joined with those beside it. Returns where the whole begins and
  /// ends.
  std::pair<size_t, size_t> join_free(const Place& at, size_t size);
  void add_slab(const Segment& segment, size_t size) {
    const size_t shared = std::clamp(total, smallest_slab, largest_shared_slab);
    const size_t whole = size > shared / 2 ? rounded(size) : shared;
    auto region = segment.add_region(whole);
    slabs.push_back({region.offset, std::move(region.memory)});
    total += whole;
    add_free({slabs.size() - 1, 0}, whole);
  }
  Place cut(const Segment& segment, size_t size);
  void give_back(const Place& at, size_t size);
};

/// The smallest free part that is large enough.
RegionPool::State::Place RegionPool::State::cut(const Segment& segment, size_t size) {
  auto best = by_size.lower_bound({size, 0, 0});
  if (best == by_size.end()) {
    add_slab(segment, size);
    best = by_size.lower_bound({size, 0, 0});
  }
  const auto [whole, slab, offset] = *best;
  remove_free(free.find({slab, offset}));
  if (whole > size) add_free({slab, offset + size}, whole - size);
  return {slab, offset};
}

std::pair<size_t, size_t> RegionPool::State::join_free(const Place& at, size_t size) {
  size_t begin = at.second, end = at.second + size;
  const auto after = free.find({at.first, end});
  if (after != free.end()) {
    end += after->second;
    remove_free(after);
  }
  auto before = free.lower_bound(at);
  if (before != free.begin() && (--before)->first.first == at.first &&
      before->first.second + before->second == begin) {
    begin = before->first.second;
    remove_free(before);
  }
  add_free({at.first, begin}, end - begin);
  return {begin, end};
}

void RegionPool::State::give_back(const Place& at, size_t size) {
  const auto& memory = slabs[at.first].memory;
  if (unit < whole_pages(1)) std::memset(memory.data() + at.second, 0, size);
  const auto [begin, end] = join_free(at, size);
  // Pages that this region had a part of, and that are free now, go back.
  const size_t page = whole_pages(1);
  const size_t first = std::max(up(begin, page), at.second / page * page);
  const size_t last = std::min(end / page * page, up(at.second + size, page));
  if (first < last) memory.give_back(first, last - first);
}

RegionPool::RegionPool(const Segment& segment)
    : segment_(segment),
      small_(std::make_shared<State>(alignment)),
      large_(std::make_shared<State>(whole_pages(1))) {}

RegionPool::Region RegionPool::take(size_t size) {
  const size_t page = whole_pages(1);
  const auto& state = size < page ? small_ : large_;
  Region region;
  region.size_ = up(std::max<size_t>(size, 1), state->unit);
  const std::lock_guard lock(state->mutex);
  const auto at = state->cut(segment_, region.size_);
  const auto& slab = state->slabs[at.first];
  const size_t first = at.second / page * page;
  const size_t last = up(at.second + region.size_, page);
  try {
    segment_.reserve(slab.offset + first, last - first);
  } catch (...) {
    state->join_free(at, region.size_);
    throw;
  }
  slab.memory.populate(first, last - first);
  region.state_ = state;
  region.data_ = slab.memory.data() + at.second;
  region.slab_offset_ = slab.offset;
  region.slab_size_ = slab.memory.size();
  region.slab_ = at.first;
  region.offset_ = at.second;
  return region;
}

size_t RegionPool::slabs() const { return small_->slabs.size() + large_->slabs.size(); }

RegionPool::Region::Region(Region&& other) noexcept
    : state_(std::move(other.state_)),
      data_(std::exchange(other.data_, nullptr)),
      slab_offset_(other.slab_offset_),
      slab_size_(other.slab_size_),
      offset_(other.offset_),
      slab_(other.slab_),
      size_(other.size_) {}

RegionPool::Region& RegionPool::Region::operator=(Region&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(data_, other.data_);
  std::swap(slab_offset_, other.slab_offset_);
  std::swap(slab_size_, other.slab_size_);
  std::swap(offset_, other.offset_);
  std::swap(slab_, other.slab_);
  std::swap(size_, other.size_);
  return *this;
}

void RegionPool::Region::give_back() {
  if (!state_) return;
  const auto state = std::exchange(state_, nullptr);
  const std::lock_guard lock(state->mutex);
  state->give_back({slab_, offset_}, size_);
  data_ = nullptr;
}

}  // namespace pillion::node
