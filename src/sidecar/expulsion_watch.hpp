// SPDX-License-Identifier: BSD-3-Clause
// A thread that looks whether the simulation has expelled this process, for another of its job has
// died. The process itself may wait for that one in MPI, and would not come to look.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "transport/node.hpp"

namespace pillion::sidecar {

class ExpulsionWatch {
 public:
  /// Calls `expelled` once, on its thread; that ends the process. Null: nothing is watched.
  explicit ExpulsionWatch(std::function<void()> expelled);
  ExpulsionWatch(const ExpulsionWatch&) = delete;
  ExpulsionWatch& operator=(const ExpulsionWatch&) = delete;
  ~ExpulsionWatch();
  /// The slots to look at from now on; they stay until the next call. Null: none.
  void watch(const transport::NodeReceiver* slots);

 private:
  void look();

  std::function<void()> expelled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const transport::NodeReceiver* slots_ = nullptr;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace pillion::sidecar
