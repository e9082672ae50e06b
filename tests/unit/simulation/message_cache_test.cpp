// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/message_cache.hpp"

#include <doctest/doctest.h>

#include "model/configuration.hpp"

using namespace pillion;
using namespace pillion::simulation;

namespace {

/// Lends one array, or nothing any more.
struct LenderOf final : transport::Lender {
  const void* lent = nullptr;
  [[nodiscard]] std::optional<transport::Lent> find(const void* data) const override {
    if (data != lent) return {};
    return transport::Lent{4096, 4096, 0};
  }
};

}  // namespace

TEST_CASE("values that are lent are no part of what an analysis has copied") {
  const double here[8] = {}, lent[8] = {};
  const model::Box box{{0, 0, 0}, {8, 1, 1}};
  const auto type = model::ElementType::Float64;
  transport::Meshes meshes;
  meshes["grid"].blocks = {{0,
                            box,
                            8,
                            {{"a", {here, type, 1, model::packed_strides(box, 1)}},
                             {"b", {lent, type, 1, model::packed_strides(box, 1)}}}}};
  LenderOf lender;
  lender.lent = lent;
  CachedMessage message({}, std::move(meshes), lender, nullptr, nullptr);
  model::AnalysisSpec both, one;
  message.add_share(both, {"a", "b"});
  message.add_share(one, {"b"});
  CHECK(message.share(0) == 128);
  CHECK(message.share(1) == 64);
  CHECK(message.bytes_copied(0) == 64);
  CHECK(message.bytes_copied(1) == 0);
  const size_t size = message.size();
  // Sidecars hold too many buffers: the next message has a copy.
  lender.lent = nullptr;
  message.renew({}, lender);
  CHECK(message.size() == size + 64);
  CHECK(message.bytes_copied(0) == 128);
  CHECK(message.bytes_copied(1) == 64);
}
