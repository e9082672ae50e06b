// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a message with values that goes directly to a sidecar. The first byte says how many
// bytes of the input are changes to the description of a good message; the rest are changes to its
// values. All that comes out of it must be within the message or the receiver's own memory.
#include "redistribution/take.hpp"

#include <algorithm>

#include "base/value.hpp"
#include "input.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using Bytes = std::vector<std::byte>;

namespace {

constexpr model::Box domain{{0, 0, 0}, {4, 4, 4}};

MessageLayout good_layout() {
  const FieldType density{"density"};
  MessageLayout layout;
  layout.regions.push_back({"grid", {density}, {{0, domain}}});
  layout.blocks.push_back({.mesh = "plain", .box = {{0, 0, 0}, {2, 2, 2}}, .fields = {density}});
  layout.particles = {"atoms"};
  return layout;
}

/// A block, a region, and the values of three particles.
Bytes good_values() {
  const int64_t size = 40, counts[5] = {3, 0, 7, 8, 9};
  Bytes values(64 + 512 + 64 + 40);
  std::memcpy(values.data() + 576, &size, sizeof size);
  std::memcpy(values.data() + 640, counts, sizeof counts);
  return values;
}

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes:\n  grid: {kind: uniform, cells: [4, 4, 4], length: [1, 1, 1]}\n"
      "  atoms: {kind: particles}\n"
      "fields:\n  density: {mesh: grid, type: float64}\n  id: {mesh: atoms, type: int64}\n",
      "catalogue", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

void take(const Bytes& described, const Bytes& values) {
  static const auto known = catalogue();
  const Routes routes = {{"grid", {.fields = {"density"}, .kind = layout::Kind::Slabs}},
                         {"atoms", {.fields = {"id"}, .kind = layout::Kind::ByKey, .key = "id"}}};
  // The layout must stay until the publication is finished.
  const auto layout = base::from_bytes<MessageLayout>(described);
  Taker taker;
  ReceivedMeshes out;
  taker.begin(routes, known, 0, 0, 1, out);
  taker.take(layout, values, nullptr, out);
  taker.finish(routes, known, false, out);
  static volatile unsigned sink = 0;
  for (const auto& [name, mesh] : out)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        if (block.box.volume() > 0) sink = sink + *static_cast<const unsigned char*>(array.data);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  static const auto layout = base::to_bytes(good_layout());
  static const auto values = good_values();
  const size_t first = std::min<size_t>(fuzz::take<uint8_t>(input), input.size());
  fuzz::accept_all_errors([&] {
    take(fuzz::changed(layout, input.first(first)), fuzz::changed(values, input.subspan(first)));
  });
  return 0;
}
