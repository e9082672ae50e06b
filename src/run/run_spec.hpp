// SPDX-License-Identifier: BSD-3-Clause
// What one rank knows and every rank of a run shall use, sidecars of other jobs included: so a
// sidecar needs no file, no parameters and no catalogue of its own. Also what crosses the cut.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "layout/request.hpp"
#include "model/configuration.hpp"
#include "run/earlier.hpp"
#include "stagehost/sink.hpp"

namespace pillion::transport {
struct Due;
struct PublicationHeader;
}  // namespace pillion::transport

namespace pillion::run {

struct Run;

/// What the stages of an analysis in sidecars need of its publications.
struct CutInput {
  std::set<std::string> fields;  ///< empty where there are no such stages
  std::string whole_for;         ///< the stage that cannot use coarse publications; "" if all can
  bool operator==(const CutInput&) const = default;
  static constexpr auto members() { return std::tuple{&CutInput::fields, &CutInput::whole_for}; }
};

/// By analysis.
using CutFields = std::vector<CutInput>;

/// By analysis: fields that its stages in the simulation produce.
using ProducedFields = std::vector<std::vector<model::Field>>;

/// By analysis: the layouts that its stages in sidecars ask for.
using LayoutRequests = std::vector<std::vector<layout::LayoutRequest>>;

/// What tests pretend of the machine, so that a laptop can stand for many nodes.
struct TestOverrides {
  int64_t nodes = 0;  ///< 0 if nodes are nodes
  /// As topology::node_of_text reads it; the ranks of a node take its cores in order. "" if cores
  /// are cores.
  std::string topology;
  /// Seconds that simulation ranks wait for each other at a call; negative if as long as they do.
  double patience = -1;

  static constexpr auto members() {
    return std::tuple{&TestOverrides::nodes, &TestOverrides::topology, &TestOverrides::patience};
  }
};

struct RunSpec {
  std::string file, text, catalogue, restart;
  base::Parameters parameters;
  base::Overrides overrides;
  std::string folder;            ///< the simulation's working folder when it opened the session
  std::vector<int64_t> move_at;  ///< publications at which analyses move that may; for tests
  TestOverrides test_overrides;
  uint64_t run = 0;  ///< no other run has it
  /// By the name of a run: the id that its launcher has chosen, so that sidecars can name it.
  std::map<std::string, std::string> given_ids;
  ProducedFields produced;  ///< by stages in the simulation; known once these are made
  /// By analysis: products that stages in the simulation declare; known then, too.
  std::vector<std::vector<stagehost::DeclaredProduct>> declared;
  Earlier earlier;               ///< known when the checkpoint is read
  bool awaits_sidecars = false;  ///< some of another job are on their way

  /// The configuration that it stands for, with absolute paths, because a program may change its
  /// working folder after it has opened the session. `sidecars_wanted` as in
  /// model::read_configuration.
  [[nodiscard]] model::Configuration configuration(int64_t sidecars_wanted) const;

  /// Its `sidecars:` alone, which need no other parameters and no catalogue.
  [[nodiscard]] model::SidecarSpec sidecars(int64_t sidecars_wanted) const;

  static constexpr auto members() {
    return std::tuple{&RunSpec::file,           &RunSpec::text,
                      &RunSpec::catalogue,      &RunSpec::restart,
                      &RunSpec::folder,         &RunSpec::move_at,
                      &RunSpec::test_overrides, &RunSpec::run,
                      &RunSpec::parameters,     &RunSpec::overrides,
                      &RunSpec::produced,       &RunSpec::declared,
                      &RunSpec::earlier,        &RunSpec::awaits_sidecars,
                      &RunSpec::given_ids};
  }
};

/// Lines NAME=VALUE. `variable` and `like`, such as "NAME=VALUE", are for the message of the
/// ErrorCode::Configuration that is thrown for a line that is none.
std::map<std::string, std::string> read_settings(const std::string& lines, const char* variable,
                                                 const char* like);

/// The id of the run called `name` whose output folder is marked with the id `marked`, or "". It is
/// the one that the launcher has given to a run of this name, unless an earlier run has it: a
/// program may open several sessions. Throws ErrorCode::Configuration if it is malformed.
uint64_t choose_id(const RunSpec& spec, const std::string& name, const std::string& marked);

/// What a message says of an analysis that is due: what its products lack on the simulation's
/// account, since the run first began.
transport::Due due_of(const Run& run, size_t analysis);

/// How meshes go to sidecars when these analyses are due: the same on every rank.
layout::Routes routes_for(const LayoutRequests& layout_requests,
                          const transport::PublicationHeader& head,
                          const model::Catalogue& catalogue);

}  // namespace pillion::run
