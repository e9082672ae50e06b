// SPDX-License-Identifier: BSD-3-Clause
// Saving and restoring the state of a stage, so that a resumed run gives the results of an
// uninterrupted one on any number of ranks.
#pragma once

#include <cstdint>
#include <cstring>
#include <pillion/stage/host.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pillion::stage {

/// The state of a stage from one publication to the next, on its way to or from disk.
class State {
 public:
  State(const pillion_stage_host* host, pillion_state* handle) : host_(host), handle_(handle) {}

  /// Values that are the same on every peer.
  template <class T>
  void save(const std::string& name, const std::vector<T>& values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    check(host_,
          host_->save_global(handle_, name.c_str(), values.data(), values.size() * sizeof(T)));
  }
  template <class T>
  [[nodiscard]] std::vector<T> load(const std::string& name) const {
    const void* bytes = nullptr;
    size_t size = 0;
    check(host_, host_->load_global(handle_, name.c_str(), &bytes, &size));
    std::vector<T> values(size / sizeof(T));
    if (size != 0) std::memcpy(values.data(), bytes, values.size() * sizeof(T));
    return values;
  }

  /// Records of `width` values each that belong to keys of a by_key layout. On restoring, each peer
  /// gets those whose keys it owns, sorted by key, however many peers there were.
  template <class T>
  void save(const std::string& name, std::span<const int64_t> keys, std::span<const T> records,
            size_t width) const {
    check(host_,
          host_->save_keyed(handle_, name.c_str(), keys.data(), static_cast<int64_t>(keys.size()),
                            records.data(), width * sizeof(T)));
  }
  template <class T>
  [[nodiscard]] std::pair<std::vector<int64_t>, std::vector<T>> load(const std::string& name,
                                                                     size_t width) const {
    const int64_t* keys = nullptr;
    const void* records = nullptr;
    int64_t count = 0;
    check(host_,
          host_->load_keyed(handle_, name.c_str(), &keys, &count, &records, width * sizeof(T)));
    std::pair<std::vector<int64_t>, std::vector<T>> out;
    out.first.assign(keys, keys + count);
    out.second.resize(static_cast<size_t>(count) * width);
    if (count != 0) std::memcpy(out.second.data(), records, out.second.size() * sizeof(T));
    return out;
  }

 private:
  const pillion_stage_host* host_;
  pillion_state* handle_;
};

}  // namespace pillion::stage
