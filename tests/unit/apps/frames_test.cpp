// SPDX-License-Identifier: BSD-3-Clause
#include "replay/frames.hpp"

#include <doctest/doctest.h>

#include "errors.hpp"

using namespace replay;

namespace {

const std::set<std::string> fields{"gas", "gas_2", "id"};

Found found(const std::string& field, int64_t step, const std::string& path,
            std::optional<double> time = {}, const std::string& dataset = {}) {
  Stored stored;
  stored.path = path;
  stored.dataset = dataset;
  return {field, step, time, stored};
}

std::string stem_of(const std::string& stem, const std::map<std::string, std::string>& given = {}) {
  const auto at = field_at_step(stem, Names(fields, given));
  return at ? at->field + " " + std::to_string(at->step) : "nothing";
}

About timed(const std::map<int64_t, double>& times) {
  About about;
  for (const auto& [step, time] : times) about.steps[step].time = time;
  return about;
}

}  // namespace

TEST_CASE("names of files say field and step") {
  CHECK(stem_of("gas.000040") == "gas 40");
  CHECK(stem_of("gas_7") == "gas 7");
  CHECK(stem_of("gas-0") == "gas 0");
  CHECK(stem_of("gas") == "gas 0");
  CHECK(stem_of("gas_2") == "gas_2 0");
  CHECK(stem_of("gas_2.5") == "gas_2 5");
  CHECK(stem_of("gas7") == "nothing");
  CHECK(stem_of("gass.7") == "nothing");
  CHECK(stem_of("12") == "nothing");
  CHECK(stem_of("") == "nothing");
  CHECK(stem_of("gas.99999999999999999999") == "nothing");
}

TEST_CASE("other names stand in the place of fields' own") {
  const std::map<std::string, std::string> given{{"gas", "rho"}, {"id", "/PartType1/ParticleIDs"}};
  CHECK(stem_of("rho.3", given) == "gas 3");
  CHECK(stem_of("gas.3", given) == "nothing");
  const Names names(fields, given);
  CHECK(names.field_of_dataset("/PartType1/ParticleIDs") == "id");
  CHECK(names.field_of_dataset("PartType1/ParticleIDs") == "id");
  CHECK(names.field_of_dataset("PartType0/ParticleIDs").empty());
  CHECK(names.field_of_dataset("/any/where/rho") == "gas");
  CHECK(names.field_of_dataset("gas_2") == "gas_2");
  CHECK(names.name("gas") == "rho");
  CHECK(contains(error_of([] {
                   (void)Names(fields, {{"gs", "rho"}});
                 }),
                 "no field 'gs'; it has gas, gas_2, id"));
  CHECK(contains(error_of([] { (void)Names(fields, {{"gas", "id"}}); }), "taken by another field"));
}

TEST_CASE("the last number in a name") {
  CHECK(last_number("snap_0042") == 42);
  CHECK(last_number("run3.z7b") == 7);
  CHECK(last_number("5") == 5);
  CHECK(!last_number("snap"));
  CHECK(!last_number(""));
}

TEST_CASE("frames come in the order of steps, with the fields that are used alone") {
  const auto frames = make_frames({found("gas", 100, "gas.100.npy"), found("id", 20, "id.20.npy"),
                                   found("gas", 20, "gas.20.npy"), found("gas", 3, "gas.3.npy")},
                                  {"gas"}, Names(fields, {}), {}, {});
  REQUIRE(frames.size() == 3);
  CHECK(frames[0].step == 3);
  CHECK(frames[1].step == 20);
  CHECK(frames[2].step == 100);
  CHECK(frames[1].time == 20);
  CHECK(frames[1].fields.size() == 1);
  CHECK(frames[1].fields.at("gas").path == "gas.20.npy");
  CHECK(make_frames({}, {"gas"}, Names(fields, {}), {}, {}).empty());
}

TEST_CASE(
    "times are those of the option, of the file, of what is said about it, or numbers of steps") {
  const std::vector<Found> all{found("gas", 2, "a.h5", 0.5), found("gas", 4, "b.npy")};
  const auto times = [&](const About& about, std::optional<double> per_step = {}) {
    std::vector<double> out;
    for (const auto& frame : make_frames(all, {"gas"}, Names(fields, {}), about, per_step))
      out.push_back(frame.time);
    return out;
  };
  CHECK(times(timed({{2, 0.25}, {4, 0.75}})) == std::vector<double>{0.5, 0.75});
  CHECK(times({}, 0.1) == std::vector<double>{0.2, 0.4});
  CHECK(contains(error_of([&] { (void)times({}); }), "step 4 has no time, while other steps have"));
  CHECK(contains(error_of([] {
                   (void)make_frames({found("gas", 1, "a.h5", 1.0), found("id", 1, "b.h5", 2.0)},
                                     {"gas", "id"}, Names(fields, {}), {}, {});
                 }),
                 "step 1 has two times"));
}

TEST_CASE("domains of a step go before those of all") {
  About about;
  about.domains["stars"].hi[0] = 1;
  about.domains["gas"].hi[0] = 2;
  about.steps[7].domains["stars"].hi[0] = 3;
  const auto frames =
      make_frames({found("id", 7, "a"), found("id", 8, "b")}, {"id"}, Names(fields, {}), about, {});
  CHECK(frames[0].domains.at("stars").hi[0] == 3);
  CHECK(frames[0].domains.at("gas").hi[0] == 2);
  CHECK(frames[1].domains.at("stars").hi[0] == 1);
}

TEST_CASE("a field that is missing at a step is missed by the name that its file should have") {
  const auto said = [](const std::vector<Found>& all,
                       const std::map<std::string, std::string>& given) {
    return error_of([&] { (void)make_frames(all, {"gas", "id"}, Names(fields, given), {}, {}); });
  };
  CHECK(contains(
      said({found("gas", 5, "s/gas.0005.npy")}, {}),
      "field 'id', which analyses use, is missing at step 5: there is no 's/id.0005.npy'"));
  CHECK(contains(said({found("gas", 5, "rho_5.npy")}, {{"gas", "rho"}, {"id", "names"}}),
                 "there is no 'names_5.npy'"));
  CHECK(
      contains(said({found("id", 5, "s/a.h5", {}, "/x/id")}, {}), "'s/a.h5' has no dataset 'gas'"));
}

TEST_CASE("a field that is there twice at a step is refused") {
  CHECK(error_of([] {
          (void)make_frames({found("gas", 5, "a/gas.5.npy"), found("gas", 5, "b/gas.05.npy")},
                            {"gas"}, Names(fields, {}), {}, {});
        }) == "field 'gas' is there twice at step 5: in 'a/gas.5.npy' and in 'b/gas.05.npy'");
}
