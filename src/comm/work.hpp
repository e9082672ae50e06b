// SPDX-License-Identifier: BSD-3-Clause
// A piece of work that its caller holds. Unlike std::function it needs no memory of its own, so
// that a rank that lacks memory still comes to the collective, where the others wait for it.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace pillion::comm {

template <class Result, class... Arguments>
class Work {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Work>)
      Work(F&& function)  // NOLINT(google-explicit-constructor)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return static_cast<Result>((*static_cast<std::remove_reference_t<F>*>(object))(
              std::forward<Arguments>(arguments)...));
        }) {}
  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace pillion::comm
