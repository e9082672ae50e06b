// SPDX-License-Identifier: BSD-3-Clause
// The class that stages derive from, and the functions that connect it with the C table of a
// plug-in. No exception leaves them.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <pillion/stage/host.hpp>
#include <pillion/stage/setup.hpp>
#include <pillion/stage/state.hpp>
#include <pillion/stage/step.hpp>
#include <utility>

namespace pillion::stage {

/// A stage. Its constructor takes a Setup&, reads the parameters and asks for inputs.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  virtual void run(Step& step) = 0;
  /// The last call: products that need the whole run. There are no inputs.
  virtual void finish(Step&) {}
  /// A stage with a state implements both; every peer calls them.
  virtual void save(State&) const {}
  virtual void restore(State&) {}
};

/// Implementation of the plug-in's table for a Stage class.
template <class S>
class Bridge {
 public:
  static int32_t create(const pillion_stage_host* host, pillion_setup* setup, void** stage) {
    return guard(host, [&] {
      expect_host(*host);
      Setup wrapped(host, setup);
      *stage = new Bridge(host, std::make_unique<S>(wrapped));
    });
  }
  static int32_t run(void* self, pillion_work* work) {
    return call(self, [&](Bridge& b) {
      Step step(b.host_, work);
      b.stage_->run(step);
    });
  }
  static int32_t finish(void* self, pillion_work* work) {
    return call(self, [&](Bridge& b) {
      Step step(b.host_, work);
      b.stage_->finish(step);
    });
  }
  static int32_t save(void* self, pillion_state* state) {
    return call(self, [&](Bridge& b) {
      State s(b.host_, state);
      b.stage_->save(s);
    });
  }
  static int32_t restore(void* self, pillion_state* state) {
    return call(self, [&](Bridge& b) {
      State s(b.host_, state);
      b.stage_->restore(s);
    });
  }
  static void destroy(void* self) { delete static_cast<Bridge*>(self); }

 private:
  Bridge(const pillion_stage_host* host, std::unique_ptr<S> stage)
      : host_(host), stage_(std::move(stage)) {}

  template <class F>
  static int32_t guard(const pillion_stage_host* host, F&& body) {
    try {
      body();
      return 0;
    } catch (const Error& e) {
      return host->fail(static_cast<int32_t>(e.code()), e.what());
    } catch (const std::bad_alloc&) {
      return host->fail(static_cast<int32_t>(ErrorCode::Stage), "out of memory");
    } catch (const std::exception& e) {
      return host->fail(static_cast<int32_t>(ErrorCode::Stage), e.what());
    } catch (...) {
      return host->fail(static_cast<int32_t>(ErrorCode::Stage),
                        "an exception that is not a std::exception");
    }
  }
  template <class F>
  static int32_t call(void* self, F&& body) {
    auto& bridge = *static_cast<Bridge*>(self);
    return guard(bridge.host_, [&] { body(bridge); });
  }

  const pillion_stage_host* host_;
  std::unique_ptr<S> stage_;
};

}  // namespace pillion::stage
