// SPDX-License-Identifier: BSD-3-Clause
// Small deeds on what both sides hold.
#include "run/run.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "products/table.hpp"
#include "stagehost/plans.hpp"
#include "topology/location.hpp"

namespace pillion::run {

Run::Run() : plans(std::make_unique<stagehost::Plans>()) {}

Run::~Run() = default;

bool Run::is_sidecar() const {
  return roles[static_cast<size_t>(world.rank())] == topology::Role::Sidecar;
}

std::vector<int> Run::ranks_of(topology::Role role) const {
  std::vector<int> ranks;
  for (size_t r = 0; r < roles.size(); ++r)
    if (roles[r] == role) ranks.push_back(static_cast<int>(r));
  return ranks;
}

namespace {

/// Adds to a list for the report, which may not grow with the length of the run.
void note(std::vector<std::string>& list, const std::string& message) {
  constexpr size_t most = 1000;
  if (list.size() < most) list.push_back(message);
  else if (list.size() == most) list.emplace_back("there were more; the log has all of them");
}

}  // namespace

void Run::warn(const std::string& message) {
  if (side.rank() != 0) return;
  note(warnings, message);
  log.warn("{}", message);
}

void Run::remark(const std::string& message) {
  if (side.rank() != 0) return;
  note(remarks, message);
  log.info("{}", message);
}

void Run::keep(DepartedAnalysis gone) {
  constexpr size_t most = 256;
  const auto known = std::find_if(departed.begin(), departed.end(), [&](const auto& one) {
    return one.analysis.name == gone.analysis.name;
  });
  if (known != departed.end()) {
    gone.costs.add_earlier(known->costs);
    departed.erase(known);
  } else if (departed.size() == most) {
    departed.erase(departed.begin());
    ++forgotten;
  }
  departed.push_back(std::move(gone));
}

void Run::disable(size_t analysis, const Error& failure) {
  disabled[analysis] = "out of memory";  // takes none, and holds if there is none for the reason
  disabled[analysis] = failure.what();
  const std::string message = fmt::format("analysis '{}' is disabled for the rest of the run: {}",
                                          configuration.analyses[analysis].name, failure.what());
  if (side.rank() != 0) return;
  warnings.push_back(message);
  log.failure("{}", message);
}

void Run::drop(size_t analysis, int64_t step, const Error& fault, int64_t CostCounters::*counter) {
  ++(accounts[analysis].*counter);
  if (!dropping.insert(analysis).second) return;
  warn(
      fmt::format("analysis '{}' drops the publication of step {}, and those after it as long as "
                  "this stays so: {}",
                  configuration.analyses[analysis].name, step, fault.what()));
}

void Run::lose(size_t analysis, int64_t step, const Error& failure, int64_t in_row,
               int64_t CostCounters::*counter) {
  ++(accounts[analysis].*counter);
  constexpr int most = 3;
  if (in_row > 1 || said_losses[analysis] == most) return;
  const auto& of = configuration.analyses[analysis];
  warn(
      fmt::format("analysis '{}' loses the publication of step {}: {}; it continues with the next "
                  "one, and is disabled after {} failures in a row{}",
                  of.name, step, failure.what(), of.disable_after,
                  ++said_losses[analysis] == most ? " (later ones are only counted)" : ""));
}

void Run::start_progress(Snapshot first) {
  const double period = progress_period(std::getenv("PILLION_PROGRESS"));
  if (period == 0) return;
  first.run = configuration.run;
  first.id = id;
  first.continues = continues;
  first.started = started;
  describe(first);
  try {
    progress = std::make_unique<ProgressFile>(configuration.output, std::move(first), mark, period);
  } catch (const std::system_error& e) {
    warn(fmt::format("progress is not written: {}", e.what()));
  }
}

void Run::follow_timeline() {
  const char* folder = std::getenv("PILLION_TIMELINE");
  if (folder == nullptr || *folder == '\0') return;
  try {
    timeline.follow(folder, is_sidecar() ? "sidecar" : "simulation", side.rank());
  } catch (const Error& e) {
    warn(e.what());
  }
}

namespace {

/// Last entries of a list that only grows.
std::vector<std::string> last_of(const std::vector<std::string>& all) {
  constexpr size_t most = 5;
  return {all.end() - static_cast<ptrdiff_t>(std::min(most, all.size())), all.end()};
}

}  // namespace

void Run::describe(Snapshot& s) const {
  for (size_t a = s.analyses.size(); a < configuration.analyses.size(); ++a) {
    const auto& analysis = configuration.analyses[a];
    s.analyses.push_back({analysis.name,
                          placement_of(analysis),
                          analysis.every.text(),
                          analysis.when ? analysis.when->text() : "",
                          "",
                          {},
                          {}});
  }
  for (size_t a = 0; a < std::min(s.analyses.size(), accounts.size()); ++a) {
    // The number may be another one's than when this was last written.
    if (const auto& now = configuration.analyses[a]; s.analyses[a].name != now.name) {
      s.analyses[a].name = now.name;
      s.analyses[a].placement = placement_of(now);
      s.analyses[a].every = now.every.text();
      s.analyses[a].when = now.when ? now.when->text() : "";
    }
    s.analyses[a].account = accounts[a];
    s.analyses[a].counts = counts(a);
    if (s.analyses[a].disabled != disabled[a]) s.analyses[a].disabled = disabled[a];
  }
  const auto& products = sink.products();
  s.products.resize(products.size());
  for (size_t p = 0; p < products.size(); ++p)
    if (s.products[p].second != products[p].path)
      s.products[p] = {products[p].analysis, products[p].path};
  if (!warnings.empty() && (s.warnings.empty() || s.warnings.back() != warnings.back()))
    s.warnings = last_of(warnings);
  if (s.time_units != configuration.time_units) s.time_units = configuration.time_units;
}

void Run::warn_of_trouble() {
  const auto trouble = progress->trouble();
  if (!trouble.empty()) warn(fmt::format("progress cannot be shown: {}", trouble));
}

const char* placement_of(const model::AnalysisSpec& analysis) {
  if (!analysis.in_sidecars()) return "simulation";
  if (analysis.is_movable()) return "auto";
  return analysis.in_simulation() ? "hybrid" : "sidecar";
}

Working::Working(Run& run, size_t analysis, int64_t step) : progress_(run.progress.get()) {
  if (progress_ == nullptr) return;
  const CurrentWork work{analysis, step, base::calendar_seconds()};
  progress_->tell([&](Snapshot& snapshot) { snapshot.work = work; });
}

Working::~Working() {
  if (progress_ != nullptr) progress_->tell([](Snapshot& snapshot) { snapshot.work.reset(); });
}

products::Origin Run::origin(size_t analysis) const {
  products::Origin origin;
  origin.run = id_of(id);
  origin.analysis = configuration.analyses[analysis].name;
  origin.configuration = configuration.text;
  origin.parameters = configuration.parameters;
  origin.time_units = configuration.time_units;
  const auto& known = configuration.catalogue.scalars();
  for (size_t s = 0; s < std::min(known.size(), scalars.size()); ++s)
    origin.scalars.push_back({known[s].name, known[s].units, scalars[s]});
  return origin;
}

}  // namespace pillion::run
