// SPDX-License-Identifier: BSD-3-Clause
// Sharing elements of a spectral mesh, and conditions over all of their points.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "comm/communicator.hpp"
#include "simulation/sharing.hpp"
#include "stagehost/weighed_field.hpp"

using namespace pillion;
using namespace pillion::simulation;
using model::MeshKind;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {box: {kind: spectral, order: 1}, atoms: {kind: particles}}\n"
      "fields:\n  u: {mesh: box, type: float64, components: 2}\n"
      "  number: {mesh: box, type: int32, centering: cell}\n"
      "  id: {mesh: atoms, type: int32}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

std::vector<model::Moments> moments_of(const model::Catalogue& fields, const std::string& field,
                                       std::vector<int32_t> components,
                                       const stagehost::Publication& publication) {
  const comm::Communicator nobody;
  stagehost::ExecutionContext context;
  context.peers = &nobody;
  return stagehost::WeighedField(fields, field).moments(publication, components, context);
}

std::string error_of(const Sharing& sharing, const std::set<std::string>& fields) {
  try {
    sharing.throw_fault();
    (void)sharing.publication(fields, 0, 0);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("elements are blocks of as many values as points and components make") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  std::vector<double> u(3 * 16);
  for (size_t i = 0; i < u.size(); ++i) u[i] = static_cast<double>(i);
  const int32_t numbers[] = {5, 7, 6};
  sharing.share_items(MeshKind::Spectral, "u", 0, 3, u.data(), PILLION_FLOAT64);
  sharing.share_items(MeshKind::Spectral, "number", 0, 3, numbers, PILLION_INT32);
  const auto publication = sharing.publication({"u", "number"}, 0, 0);
  const auto& blocks = publication.meshes.at("box").blocks;
  const auto& block = blocks.at(0);
  CHECK(block.owned == 3);
  CHECK(block.arrays.at("u").components == 16);
  CHECK(block.arrays.at("u").strides[0] == 16);
  CHECK(block.arrays.at("number").components == 1);

  // Component 1 of element e has the values from 16 e + 8 to 16 e + 15.
  const auto both = moments_of(fields, "u", {1, model::Quantity::norm}, publication);
  const auto& second = both[0];
  CHECK(second.count == 24);
  CHECK(second.minimum == 8);
  CHECK(second.maximum == 47);
  CHECK(second.sum == 3 * (8 + 15) * 4 + 16 * 8 * 3);
  CHECK(both[1].maximum == doctest::Approx(std::hypot(39, 47)));
  CHECK(moments_of(fields, "number", {0}, publication).front().sum == 18);
}

TEST_CASE("what does not fit a spectral mesh is named") {
  const auto fields = catalogue();
  const double u[64] = {};
  const int32_t numbers[4] = {};
  const auto fault = [&](const auto& share) {
    Sharing sharing(fields);
    share(sharing);
    return error_of(sharing, {"u", "number"});
  };
  CHECK(fault([&](Sharing& s) { s.share_particles("u", 0, 4, u, 0); }) ==
        "field 'u' was shared as particles, but its mesh 'box' is of kind 'spectral'");
  CHECK(fault([&](Sharing& s) { s.share_items(MeshKind::Spectral, "id", 0, 4, u, 0); }) ==
        "field 'id' was shared as elements, but its mesh 'atoms' is of kind 'particles'");
  CHECK(fault([&](Sharing& s) { s.share_items(MeshKind::Spectral, "u", 0, -1, u, 0); }) ==
        "block 0 of field 'u' was shared with -1 elements and some memory");
  CHECK(fault([&](Sharing& s) {
          s.share_items(MeshKind::Spectral, "u", 0, 4, u, PILLION_FLOAT32);
        }) == "block 0 of field 'u' was shared as float32, but the catalogue says float64");
  CHECK(fault([&](Sharing& s) { s.set_domain("box", {}); }).find("not a particle mesh") !=
        std::string::npos);
  CHECK(fault([&](Sharing& s) {
          s.share_items(MeshKind::Spectral, "number", 2, 4, numbers, 0);
          s.share_items(MeshKind::Spectral, "u", 2, 3, u, 0);
        }) ==
        "block 2 of field 'u' was shared as 3 elements, but another field of mesh 'box' as 4 "
        "elements");
}
