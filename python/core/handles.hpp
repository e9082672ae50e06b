// SPDX-License-Identifier: BSD-3-Clause
// What a stage in Python is given by the module `pillion._stage`: handles of the host that are good
// for one call only. Python may keep them; used later, they throw instead of crashing.
#pragma once

#include <nanobind/nanobind.h>
#include <pillion/stage.h>

#include <pillion/error.hpp>
#include <string>

namespace pillion::python {

/// A handle with the host's functions; empty when the call is over.
template <class Handle>
class Lent {
 public:
  Lent(const pillion_stage_host* host, Handle* handle) : host_(host), handle_(handle) {}
  void end() { handle_ = nullptr; }
  [[nodiscard]] Handle* get() const {
    if (handle_ == nullptr)
      throw Error(ErrorCode::State,
                  "a stage in Python used a step after it was over; copy what you "
                  "need before the stage returns");
    return handle_;
  }
  [[nodiscard]] const pillion_stage_host& host() const { return *host_; }
  /// Throws what a call of the host that returned `status` has said.
  void check(int32_t status) const {
    if (status != 0) throw Error(static_cast<ErrorCode>(status), host_->failure());
  }

 private:
  const pillion_stage_host* host_;
  Handle* handle_;
};

using Setup = Lent<pillion_setup>;
using Work = Lent<pillion_work>;
using State = Lent<pillion_state>;

void bind_setup(nanobind::module_& module);
void bind_work(nanobind::module_& module);
void bind_products(nanobind::class_<Work>& work);
void bind_views(nanobind::class_<Work>& work);
void bind_state(nanobind::module_& module);

/// A node of the configuration as Python has it: texts, lists and dicts; None if there is none.
nanobind::object object_of(const pillion_stage_host& host, const pillion_value* value);

}  // namespace pillion::python
