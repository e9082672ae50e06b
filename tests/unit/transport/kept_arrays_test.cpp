// SPDX-License-Identifier: BSD-3-Clause
#include "redistribution/kept_arrays.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "transport/publication_header.hpp"

using namespace pillion;
using transport::Encoder;

namespace {

/// A rank whose blocks have an array of values, and one that seldom changes.
struct Rank {
  std::map<int64_t, std::vector<double>> values, cells;
  std::map<int64_t, int64_t> versions;
  transport::SentArrays sent;

  void set(int64_t block, double value, int64_t version) {
    values[block] = {value, value};
    cells[block] = {value, value, value};
    versions[block] = version;
  }
  [[nodiscard]] transport::Meshes meshes() const {
    transport::Meshes out;
    auto& mesh = out["m"];
    mesh.kind = model::MeshKind::Unstructured;
    for (const auto& [id, version] : versions) {
      auto& block = mesh.blocks.emplace_back();
      block.id = id;
      block.box.hi = {2, 1, 1};
      block.arrays["u"].data = values.at(id).data();
      auto& kept = block.arrays["/m/topology"];
      kept.data = cells.at(id).data();
      kept.extents = {3, 1, 1};
      kept.has_extents = true;
      kept.version = version;
      for (auto& [name, array] : block.arrays)
        array.strides = model::packed_strides(model::box_of(array, block.box), 1);
    }
    return out;
  }
  /// The message, and whether it brings something new.
  std::pair<base::Bytes, bool> send() {
    const auto all = meshes();
    transport::PublicationHeader head;
    const Encoder encoder(head, all, nullptr, &sent);
    base::Bytes bytes(encoder.size());
    encoder.encode(bytes.data());
    encoder.note_in(sent);
    return {bytes, encoder.brings_new()};
  }
};

/// Keeps the message as long as what was decoded.
transport::Decoded receive(const std::pair<base::Bytes, bool>& message,
                           transport::KeptArrays& kept) {
  const auto bytes = std::make_shared<base::Bytes>(message.first);
  const auto read = [&] {
    return transport::decode(bytes->data(), bytes->size(), bytes, {}, &kept);
  };
  if (message.second) transport::keep(read(), kept);
  return read();
}

double value_of(const transport::Decoded& decoded, size_t block, const char* field, size_t i) {
  const auto& arrays = decoded.meshes.at("m").blocks.at(block).arrays;
  return static_cast<const double*>(arrays.at(field).data)[i];
}

}  // namespace

TEST_CASE("arrays cross once for each of their versions") {
  Rank rank;
  transport::KeptArrays kept;
  rank.set(0, 1.5, 1);
  rank.set(7, 2.5, 2);
  const auto first = rank.send();
  CHECK(first.second);
  auto decoded = receive(first, kept);
  CHECK(value_of(decoded, 1, "/m/topology", 2) == 2.5);

  rank.values[7] = {4, 5};
  rank.cells[7] = {-1, -1, -1};  // must not be looked at: the version is the same
  const auto second = rank.send();
  CHECK_FALSE(second.second);
  CHECK(second.first.size() < first.first.size());
  decoded = receive(second, kept);
  CHECK(value_of(decoded, 1, "u", 1) == 5);
  CHECK(value_of(decoded, 1, "/m/topology", 2) == 2.5);

  rank.set(7, 9, 3);
  decoded = receive(rank.send(), kept);
  CHECK(value_of(decoded, 0, "/m/topology", 0) == 1.5);
  CHECK(value_of(decoded, 1, "/m/topology", 0) == 9);
}

TEST_CASE("blocks that are gone are forgotten on both sides") {
  Rank rank;
  transport::KeptArrays kept;
  rank.set(0, 1, 1);
  rank.set(1, 2, 2);
  receive(rank.send(), kept);
  rank.versions.erase(1);
  rank.set(0, 3, 3);
  receive(rank.send(), kept);
  CHECK_FALSE(rank.sent.has("/m/topology", 1, 2));
  CHECK_THROWS_AS((void)kept.find("/m/topology", 1, 2, 24), Error);
  rank.set(1, 2, 2);  // it comes again
  const auto decoded = receive(rank.send(), kept);
  CHECK(value_of(decoded, 1, "/m/topology", 1) == 2);
}

TEST_CASE("a message that leaves out what is not kept is refused") {
  Rank rank;
  transport::KeptArrays kept, empty;
  rank.set(0, 1, 1);
  receive(rank.send(), kept);
  const auto later = rank.send();
  CHECK_THROWS_WITH_AS((void)receive(later, empty), doctest::Contains("which is not kept"), Error);
  CHECK_THROWS_AS((void)transport::decode(later.first.data(), later.first.size(), nullptr), Error);
}
