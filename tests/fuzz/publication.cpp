// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the message of a publication. The first byte selects whether the input is the
// message or changes to a good one. All values of all arrays that come out of it must be within the
// message.
#include <algorithm>
#include <numeric>

#include "input.hpp"
#include "transport/publication_header.hpp"
#include "transport/staging.hpp"

using namespace pillion;
using namespace pillion::transport;
using Bytes = std::vector<std::byte>;

namespace {

Bytes good_message() {
  static const std::vector<double> density(24, 0.5);
  static const std::vector<int32_t> ids = {5, 6, 7};
  Meshes meshes;
  const model::Box box{{2, 0, 0}, {4, 3, 4}};
  meshes["grid"].blocks.push_back(
      {.id = model::block_id(5, 3),
       .box = box,
       .owned = 24,
       .arrays = {{"density",
                   {density.data(), model::ElementType::Float64, 1, model::packed_strides(box, 1),
                    model::Centering::Cell}}}});
  meshes["atoms"].kind = model::MeshKind::Particles;
  meshes["atoms"].blocks.push_back(
      {.id = 0,
       .box = {{0, 0, 0}, {3, 1, 1}},
       .owned = 3,
       .arrays = {{"id", {ids.data(), model::ElementType::Int32, 1, {1, 0, 0, 1}}}}});
  PublicationHeader head;
  head.sequence = 9;
  head.due = {{.analysis = 1, .skipped = 4}};
  head.units = {{"density", "kg"}};
  head.domains["atoms"].hi[1] = 3;
  const Encoder encoder(head, meshes);
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  return {memory.data(), memory.data() + encoder.size()};
}

/// Reads the first and the last byte of every array.
unsigned touch(const Meshes& meshes) {
  unsigned sum = 0;
  for (const auto& [name, mesh] : meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays) {
        const auto size = model::bytes_of(array, block.box);
        if (size == 0) continue;
        const auto* bytes = static_cast<const unsigned char*>(array.data);
        sum += bytes[0] + bytes[size - 1];
      }
  return sum;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  static const auto good = good_message();
  const bool as_it_is = fuzz::take<uint8_t>(input) % 2 == 1;
  Bytes message = fuzz::changed(good, as_it_is ? fuzz::Input() : input);
  if (as_it_is)
    message.assign(reinterpret_cast<const std::byte*>(input.data()),
                   reinterpret_cast<const std::byte*>(input.data() + input.size()));
  // In memory of its own, whose end the sanitizer knows, aligned as messages are.
  const Buffer memory(message.size());
  std::ranges::copy(message, memory.data());
  static volatile unsigned sink = 0;
  fuzz::accept_all_errors([&] {
    const auto decoded =
        decode(memory.data(), message.size(), nullptr, [](const auto&...) -> const std::byte* {
          base::fail(ErrorCode::State, "nothing is lent");
        });
    sink = touch(decoded.meshes);
  });
  fuzz::accept_all_errors([&] { decode_head(memory.data(), message.size()); });
  return 0;
}
