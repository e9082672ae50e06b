// SPDX-License-Identifier: BSD-3-Clause
// What the C++ face makes of the host's structs: meshes, arrays in bytes, and what it cannot read.
#include <doctest/doctest.h>

#include <pillion/stage.hpp>
#include <string>
#include <vector>

using namespace pillion;

namespace {

pillion_mesh described() {
  pillion_mesh mesh{};
  mesh.size = sizeof mesh;
  mesh.name = "atoms";
  mesh.coarsening = 4;
  mesh.axes = 2;
  return mesh;
}

pillion_mesh mesh = described();

pillion_stage_host host() {
  pillion_stage_host out{};
  out.abi_version = PILLION_STAGE_ABI_VERSION;
  out.size = sizeof out;
  out.failure = [] { return "no such mesh"; };
  out.mesh = [](pillion_work*, const char* name) -> const pillion_mesh* {
    return std::string(name) == "atoms" ? &mesh : nullptr;
  };
  return out;
}

std::string failure_of(const pillion_array& array) {
  try {
    (void)stage::array_of(array);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("how coarse a publication is, and its domain") {
  const auto table = host();
  const stage::Step step(&table, nullptr);
  CHECK(step.coarsening("atoms") == 4);
  CHECK_THROWS_WITH_AS((void)step.coarsening("atmos"), "no such mesh", Error);
  CHECK_THROWS_WITH_AS((void)step.domain("atoms"),
                       "mesh 'atoms' has no domain; call pillion_set_domain before the first step",
                       Error);
  mesh.has_domain = 1;
  mesh.origin[0] = 0.1;
  mesh.end[0] = 0.7;
  mesh.periodic[1] = 1;
  const auto domain = step.domain("atoms");
  CHECK(domain.lo[0] == 0.1);
  CHECK(domain.hi[0] == 0.7);
  CHECK(domain.periodic[1] == 1);
  CHECK(domain.dimensions == 2);
  mesh = described();
}

TEST_CASE("a host that has less than the plug-in needs is refused") {
  auto table = host();
  stage::expect_host(table);
  table.size -= 8;
  CHECK_THROWS_WITH_AS(stage::expect_host(table), "this stage needs a newer version of Pillion",
                       Error);
}

TEST_CASE("arrays are read by strides in bytes, or refused in words") {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  pillion_array array{};
  array.size = sizeof array;
  array.data = values.data();
  array.type = PILLION_FLOAT32;
  array.components = 2;
  array.strides[0] = 8;
  array.strides[3] = 4;
  array.memory_space = PILLION_MEMORY_HOST;
  CHECK(stage::array_of(array).at<float>(2, 1) == 6);
  array.strides[0] = 6;
  CHECK(failure_of(array).find("components lie apart") != std::string::npos);
  array.strides[0] = 8;
  array.memory_space = PILLION_MEMORY_DEVICE;
  CHECK(failure_of(array) == "a stage cannot read memory of a device");
  array.memory_space = PILLION_MEMORY_HOST;
  array.type = 11;
  CHECK(failure_of(array) == "a stage cannot read elements of type number 11");
  array.type = PILLION_FLOAT32;
  const void* const apart[] = {values.data(), values.data() + 3};
  array.component_data = apart;
  CHECK(failure_of(array).find("components lie apart") != std::string::npos);
}
