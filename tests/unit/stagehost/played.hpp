// SPDX-License-Identifier: BSD-3-Clause
// Chains of the built-in stages run over publications that a test makes up, without a session, and
// the tables that they leave.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "comm/agreement.hpp"
#include "model/coarsen.hpp"
#include "model/configuration.hpp"
#include "stagehost/chain.hpp"
#include "stagehost/plans.hpp"

namespace pillion::test {

/// A folder that all ranks know, removed at the end by the first.
class SharedFolder {
 public:
  explicit SharedFolder(const comm::Communicator& world) : world_(world) {
    static int number = 0;
    const auto name = fmt::format("pillion-played-{}-{}", ::getpid(), ++number);
    path_ = (std::filesystem::temp_directory_path() / name).string();
    world.broadcast(path_, 0);
    if (world.rank() == 0) std::filesystem::create_directories(path_);
    world.barrier();
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(path_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const comm::Communicator& world_;
  std::string path_;
};

/// A table as it was read back. Text attributes are left out.
struct Played {
  std::map<std::string, std::vector<double>> columns;
  std::map<std::string, double> attributes;

  [[nodiscard]] const std::vector<double>& operator[](const std::string& column) const {
    REQUIRE_MESSAGE(columns.contains(column), column);
    return columns.at(column);
  }
  [[nodiscard]] size_t rows() const { return columns.begin()->second.size(); }
};

inline Played read_table(const std::string& path) {
  std::ifstream in(path);
  REQUIRE_MESSAGE(in.good(), path);
  Played out;
  std::vector<std::string> names;
  std::string head, line, cell;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    if (line.starts_with("# ")) {
      head += line.substr(2) + "\n";
    } else if (names.empty()) {
      for (; std::getline(cells, cell, ','); out.columns[cell]) names.push_back(cell);
    } else {
      for (const auto& name : names) {
        std::getline(cells, cell, ',');
        out.columns[name].push_back(std::stod(cell));
      }
    }
  }
  const auto document = base::parse_yaml(head, path, {});
  for (const auto& entry : document.find("attributes")->entries) {
    const auto& text = entry.second.find("value")->text;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == 0) out.attributes[entry.second.find("name")->text] = value;
  }
  return out;
}

inline model::Catalogue catalogue_of(const std::string& yaml) {
  const auto root = base::parse_yaml(yaml, "catalogue", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

/// An analysis called `a`, whose tables go to FOLDER/a when it is finished.
class Play {
 public:
  Play(const comm::Communicator& world, const model::Catalogue& catalogue,
       const std::string& stages, const std::string& folder)
      : world_(world), sink_(folder) {
    ::setenv("PILLION_STAGE_PATH", PILLION_TEST_STAGES, 1);
    model::AnalysisSpec spec;
    spec.name = "a";
    spec.products_every = 0;
    const auto list = base::parse_yaml(stages, "stages", {});
    for (const auto& item : list.entries) {
      const auto& [name, parameters] = item.second.entries.front();
      spec.stages.push_back({name, model::Place::Simulation, parameters});
    }
    chain_ = std::make_unique<stagehost::Chain>(spec, 0, spec.stages.size(), catalogue);
  }

  std::optional<Error> failure_of(const stagehost::Publication& publication) {
    return chain_->run(publication, context(publication.step));
  }
  void run(const stagehost::Publication& publication) {
    const auto failure = failure_of(publication);
    CHECK_MESSAGE(!failure, (failure ? failure->what() : ""));
  }
  void finish() {
    const auto failure = chain_->finish(context(0));
    CHECK_MESSAGE(!failure, (failure ? failure->what() : ""));
    world_.barrier();
  }
  stagehost::Chain& chain() { return *chain_; }

 private:
  stagehost::ExecutionContext context(int64_t step) {
    stagehost::ExecutionContext out;
    out.peers = &world_;
    out.plans = &plans_;
    out.sink = &sink_;
    out.origin.analysis = "a";
    out.origin.step = step;
    out.origin.time = 0.5 * static_cast<double>(step);
    return out;
  }

  const comm::Communicator& world_;
  stagehost::Plans plans_;
  stagehost::Sink sink_;
  std::unique_ptr<stagehost::Chain> chain_;
};

}  // namespace pillion::test
