// SPDX-License-Identifier: BSD-3-Clause
// What the adapter reads in Nek's inputs, the catalogue that it offers, and the headers of field
// files, whose numbers are compared with those that gfortran prints.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <limits>
#include <pillion/error.hpp>

#include "adapters/nek5000/catalogue.hpp"
#include "adapters/nek5000/inputs.hpp"
#include "stages/write/nek/format.hpp"

namespace pillion {

TEST_CASE("SESSION.NAME names the case and its folder") {
  CHECK(nek5000::case_name("ethier \n/work/ethier/\n") == "ethier");
  CHECK(nek5000::case_folder("ethier\n/my work/ethier/ \n") == "/my work/ethier/");
  CHECK(nek5000::case_name("").empty());
  CHECK(nek5000::case_folder("ethier") == ".");
  CHECK_FALSE(nek5000::are_coupled("ethier\n/work/\n"));
  CHECK_FALSE(nek5000::are_coupled("1\nethier\n/work/\n"));
  CHECK(nek5000::are_coupled("2\nT\ninside\n/work/\n1\noutside\n/work/\n1\n"));
}

TEST_CASE("startFrom names the file from which a run starts") {
  const auto of = [](const std::string& line) {
    return nek5000::start_file("[GENERAL] # of all\nnumSteps = 10\n" + line + "\n");
  };
  CHECK(of("startFrom = a0.f00005") == "a0.f00005");
  CHECK(of("STARTFROM=\"a0.f00005\"  # restart") == "a0.f00005");
  CHECK(of("startFrom = a0.f00005 U P T") == "a0.f00005");
  CHECK(of("startFrom = a0.f00005, b0.f00001") == "a0.f00005");
  CHECK(of("# startFrom = a0.f00005").empty());
  CHECK(of("startFrom = a0.f00005 time=0.0").empty());
  CHECK(of("[MESH]\nstartFrom = a0.f00005").empty());
  CHECK(nek5000::start_file("").empty());
  CHECK(nek5000::names_restart("output: results\nrestart: there\n"));
  CHECK_FALSE(nek5000::names_restart("output: results\n# restart: there\nmy_restart: 1\n"));
}

TEST_CASE("The catalogue has the meshes and fields of a case") {
  nek5000::Case of;
  of.order = 7;
  of.has_solid = of.has_temperature = true;
  of.is_on_thermal = {true, false, true};
  const auto yaml = YAML::Load(nek5000::catalogue_text(of));
  CHECK(yaml["meshes"]["fluid"]["order"].as<int>() == 7);
  CHECK(yaml["meshes"]["thermal"]["coordinates"].as<std::string>() == "thermal_coordinates");
  const auto mesh_of = [&](const char* field) {
    return yaml["fields"][field]["mesh"].as<std::string>();
  };
  CHECK(mesh_of("temperature") == "thermal");
  CHECK(mesh_of("scalar_1") == "fluid");
  CHECK(mesh_of("scalar_2") == "thermal");
  CHECK(yaml["fields"]["vorticity"]["components"].as<int>() == 3);
  for (const char* name : {"coordinates", "thermal_coordinates", "number", "thermal_number"})
    CHECK(yaml["fields"][name]["constant"].as<bool>());
  CHECK_FALSE(yaml["fields"]["temperature"]["constant"]);
  of.is_moving = true;
  const auto moving = YAML::Load(nek5000::catalogue_text(of));
  CHECK_FALSE(moving["fields"]["coordinates"]["constant"]);
  CHECK_FALSE(moving["fields"]["thermal_coordinates"]["constant"]);
  CHECK(moving["fields"]["number"]["constant"].as<bool>());
  of.dimensions = 2;
  of.has_solid = of.has_temperature = false;
  of.is_on_thermal = {false};
  const auto flat = YAML::Load(nek5000::catalogue_text(of));
  CHECK(flat["fields"]["velocity"]["components"].as<int>() == 2);
  CHECK(flat["fields"]["vorticity"]["components"].as<int>() == 1);
  CHECK_FALSE(flat["fields"]["temperature"]);
  CHECK_FALSE(flat["meshes"]["thermal"]);
  of.added = {"own"};
  CHECK(YAML::Load(nek5000::catalogue_text(of))["fields"]["own"]["mesh"].as<std::string>() ==
        "fluid");
  of.is_axisymmetric = true;
  CHECK_FALSE(YAML::Load(nek5000::catalogue_text(of))["fields"]["vorticity"]);
}

using namespace stages::write_nek;

TEST_CASE("Reals are as Fortran prints them") {
  CHECK(fortran_real(0, 20, 13) == " 0.0000000000000E+00");
  CHECK(fortran_real(0.001, 20, 13) == " 0.1000000000000E-02");
  CHECK(fortran_real(-12.5, 20, 13) == "-0.1250000000000E+02");
  CHECK(fortran_real(0.99999999999999999, 20, 13) == " 0.1000000000000E+01");
  CHECK(fortran_real(1e99, 20, 13) == "0.1000000000000E+100");
  CHECK(fortran_real(1e-120, 20, 13) == "0.1000000000000E-119");
  CHECK(fortran_real(std::numeric_limits<double>::quiet_NaN(), 20, 13) ==
        std::string(17, ' ') + "NaN");
  CHECK(fortran_real(-std::numeric_limits<double>::infinity(), 20, 13) ==
        std::string(11, ' ') + "-Infinity");
}

TEST_CASE("Fields have places by their names, and the others by their order") {
  auto found = places_of({{"heat", 1}, {"pressure", 1}, {"velocity", 3}, {"pair", 2}}, 3);
  CHECK(found.velocity == Part{{2, 0}, {2, 1}, {2, 2}});
  CHECK(found.pressure == Part{{1, 0}});
  CHECK(found.temperature.empty());
  CHECK(found.scalars == std::vector<Part>{{{0, 0}}, {{3, 0}}, {{3, 1}}});
  found = places_of({{"vorticity", 3}, {"force", 3}}, 3);
  CHECK(found.velocity == Part{{0, 0}, {0, 1}, {0, 2}});
  CHECK(found.scalars.size() == 3);
  CHECK_THROWS_AS((void)places_of({{"velocity", 1}}, 3), Error);
  CHECK_THROWS_AS((void)places_of({{"pressure", 3}}, 3), Error);
  CHECK_THROWS_AS((void)places_of({{"many", 100}}, 3), Error);
}

}  // namespace pillion
