// SPDX-License-Identifier: BSD-3-Clause
// Manifests as YAML, and the three uses of a saved state.
#include "run/saved_state.hpp"

#include <pillion/version.h>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/folder.hpp"
#include "base/json.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "run/run_marker.hpp"
#include "stagehost/state.hpp"

namespace pillion::run {

namespace fs = std::filesystem;
using comm::together;

namespace {

constexpr const char* kind = "saved state 3";

/// The last line of a manifest: the CRC-32C of the lines before.
constexpr const char* checksum_key = "checksum";

std::string format_checksum(const std::string& text) {
  return fmt::format("{}: \"{:08x}\"\n", checksum_key, base::crc32c(text.data(), text.size()));
}

/// The members of a struct in their order, so that none is forgotten.
template <class Numbers>
std::string format_numbers(const Numbers& numbers) {
  std::vector<std::string> texts;
  std::apply([&](auto... member) { (texts.push_back(fmt::format("{}", numbers.*member)), ...); },
             Numbers::members());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

void read_number(const base::Value& value, double& number) { number = value.as_real(); }
void read_number(const base::Value& value, int64_t& number) { number = value.as_integer(); }

template <class Numbers>
Numbers read_numbers(const base::Value& list) {
  Numbers numbers;
  constexpr size_t wanted = std::tuple_size_v<decltype(Numbers::members())>;
  if (list.entries.size() != wanted)
    list.fail(
        fmt::format("there are {} numbers where {} are expected", list.entries.size(), wanted));
  size_t next = 0;
  std::apply(
      [&](auto... member) { (read_number(list.entries[next++].second, numbers.*member), ...); },
      Numbers::members());
  return numbers;
}

std::string format_product(const stagehost::Product& product) {
  return fmt::format("[{}, {}, {}, {}, {}]", base::json_text(product.stage),
                     base::json_text(product.name), base::json_text(product.path),
                     base::json_text(product.title), product.number);
}

stagehost::Product read_product(const base::Value& list, const std::string& analysis) {
  if (list.entries.size() != 5) list.fail("a product has five entries");
  const auto text = [&](size_t i) { return list.entries[i].second.as_text(); };
  return {analysis, text(0), text(1), text(2), text(3), list.entries[4].second.as_integer()};
}

std::string format_analysis(const std::string& name, const SavedAnalysis& saved) {
  std::vector<std::string> products;
  for (const auto& product : saved.products) products.push_back(format_product(product));
  std::vector<std::string> meshes;
  for (const auto& [mesh, what] : saved.meshes)
    meshes.push_back(fmt::format("{}: {}", base::json_text(mesh), base::json_text(what)));
  const auto& schedule = saved.schedule;
  return fmt::format(
      "  {}:\n    reached: {}\n    fired: {}\n    counts: {}\n    over: {}\n    earlier: {}\n"
      "    missing: {}\n    costs: {}\n    meshes: {{{}}}\n    products: [{}]\n",
      base::json_text(name), schedule.reached ? std::to_string(*schedule.reached) : "null",
      schedule.fired, format_numbers(saved.counts), saved.over, saved.earlier, saved.missing,
      format_numbers(saved.costs), fmt::join(meshes, ", "), fmt::join(products, ", "));
}

SavedAnalysis read_analysis(const std::string& name, const base::Value& value) {
  base::Reader reader(value, "'" + name + "'");
  SavedAnalysis saved;
  if (const auto* reached = reader.find("reached")) saved.schedule.reached = reached->as_integer();
  saved.schedule.fired = reader.require("fired").as_boolean();
  saved.counts = read_numbers<Counts>(reader.require("counts"));
  saved.over = reader.require("over").as_integer();
  saved.earlier = reader.require("earlier").as_integer();
  saved.missing = reader.require("missing").as_integer();
  saved.costs = read_numbers<CostCounters>(reader.require("costs"));
  if (const auto* meshes = reader.find("meshes"))
    for (const auto& [mesh, what] : meshes->entries) saved.meshes[mesh] = what.as_text();
  if (const auto* products = reader.find("products"))
    for (const auto& [key, product] : products->entries)
      saved.products.push_back(read_product(product, name));
  reader.finish();
  return saved;
}

}  // namespace

std::string format_manifest(const SavedState& state) {
  std::string text = fmt::format(
      "pillion: {}\nversion: {}\nruns: [{}]\nstep: {}\ntime: {}\noffset: {}\ngeneration: {}\n"
      "steps: {}\nanalyses:{}\n",
      kind, PILLION_VERSION, base::json_list(state.runs), state.step, state.time, state.offset,
      state.generation, format_numbers(state.steps), state.analyses.empty() ? " {}" : "");
  for (const auto& [name, saved] : state.analyses) text += format_analysis(name, saved);
  return text + format_checksum(text);
}

SavedState parse_manifest(const std::string& text, const std::string& file) {
  const size_t end = text.rfind(checksum_key);
  // Text without a checksum is not a manifest, and refused as such below.
  if (end != std::string::npos && text.substr(end) != format_checksum(text.substr(0, end)))
    base::fail(ErrorCode::File, "'{}' is damaged: its checksum is wrong; use another checkpoint",
               file);
  const base::Value root = base::parse_yaml(text, file, {});
  base::Reader reader(root, "the manifest");
  if (reader.require("pillion").as_text() != kind)
    root.fail(fmt::format("this is not a state that this version saved, which begins 'pillion: {}'",
                          kind));
  reader.find("version");
  reader.require(checksum_key);
  SavedState state;
  if (const auto* runs = reader.find("runs"))
    for (const auto& [key, run] : runs->entries) state.runs.push_back(run.as_text());
  state.step = reader.require("step").as_integer();
  state.time = reader.require("time").as_real();
  state.offset = reader.require("offset").as_integer();
  state.generation = reader.require("generation").as_integer();
  state.steps = read_numbers<StepCounts>(reader.require("steps"));
  for (const auto& [name, value] : reader.require("analyses").entries)
    state.analyses[name] = read_analysis(name, value);
  reader.finish();
  return state;
}

void write_manifest(const fs::path& folder, const SavedState& state, bool durable) {
  products::write_whole(folder / manifest_name, format_manifest(state), durable);
}

SavedState read_manifest(const fs::path& folder) {
  const fs::path file = folder / manifest_name;
  return parse_manifest(products::read_yaml_file(file), file.string());
}

namespace {

/// What sidecars write until the simulation takes it into the manifest.
constexpr const char* sidecars_part = ".sidecars";

/// A folder with other content may be precious, and the name a mistake.
void expect_replaceable(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error)) || fs::exists(path / manifest_name, error))
    return;
  if (!fs::is_directory(path, error) || !fs::is_empty(path, error))
    base::fail(ErrorCode::File,
               "the checkpoint cannot take the place of '{}', which is not a checkpoint; name "
               "another folder",
               path.string());
}

}  // namespace

// The older checkpoint comes back to its place first, if it lies beside it: what lies beside is
// removed here.
void begin_checkpoint(const Run& run, const fs::path& path, bool sidecars_answer) {
  comm::together(run.side, [&] {
    if (path.filename().empty())
      base::fail(ErrorCode::Argument, "'{}' cannot name a checkpoint", path.string());
    if (!sidecars_answer)
      base::fail(ErrorCode::State, "no checkpoint can be made: the sidecars do not answer");
    if (run.side.rank() != 0) return;
    products::recover_folder(path, manifest_name);
    expect_replaceable(path);
    products::discard_folder_aside(path);
    products::make_folder(products::aside(path));
  });
}

void write_sidecars_part(const Run& run, const fs::path& written) {
  SavedState state;
  for (size_t a = 0; a < run.accounts.size(); ++a) {
    const auto& name = run.configuration.analyses[a].name;
    state.analyses[name] = {.costs = run.accounts[a], .products = run.sink.products_of(name)};
  }
  write_manifest(written / sidecars_part, state, false);
}

std::optional<SavedState> read_sidecars_part(const fs::path& written) {
  std::error_code error;
  if (!fs::exists(written / sidecars_part / manifest_name, error)) return {};
  return read_manifest(written / sidecars_part);
}

namespace {

/// What has to be the same in a run that resumes: stages keep values by cell.
std::string describe(const model::Mesh& mesh) {
  std::string text = fmt::format("{} mesh", model::name_of(mesh.kind));
  if (!model::has_boxes(mesh.kind)) return text;
  return text + fmt::format(" of {} cells",
                            fmt::join(mesh.cells.begin(), mesh.cells.begin() + mesh.axes, " x "));
}

SavedAnalysis saved_of(const Run& run, size_t a, const SavedState* sidecars) {
  const auto& analysis = run.configuration.analyses[a];
  SavedAnalysis saved{.counts = run.earlier.of(a), .products = run.sink.products_of(analysis.name)};
  AnalysisSummary there;
  if (sidecars != nullptr)
    if (const auto known = sidecars->analyses.find(analysis.name);
        known != sidecars->analyses.end()) {
      there = summary_of(known->second.costs, {});
      const auto& more = known->second.products;
      saved.products.insert(saved.products.end(), more.begin(), more.end());
    }
  add(saved.counts, counts_of(run.configuration, run.configuration.analyses[a],
                              summary_of(run.accounts[a], {}), there));
  for (const auto& product : run.earlier.products)
    if (product.analysis == analysis.name && !lists(saved.products, product))
      saved.products.push_back(product);
  return saved;
}

}  // namespace

SavedState state_of(const Run& run, const CheckpointScope& scope,
                    const std::optional<SavedState>& sidecars) {
  SavedState state{.step = scope.agenda.last_step(),
                   .time = scope.agenda.last_time(),
                   .offset = scope.agenda.offset(),
                   .steps = scope.steps,
                   .runs = run.continues,
                   .analyses = {}};
  state.runs.push_back(id_of(run.id));
  const auto& catalogue = run.configuration.catalogue;
  for (size_t a = 0; a < scope.analyses; ++a) {
    if (!run.enabled(a)) continue;
    auto saved = saved_of(run, a, sidecars ? &*sidecars : nullptr);
    saved.schedule = scope.agenda.schedule_state(a);
    if (a < scope.fields.size())
      for (const auto& name : scope.fields[a])
        if (const auto* field = catalogue.find_field(name))
          saved.meshes[field->mesh] = describe(catalogue.mesh(field->mesh));
    state.analyses[run.configuration.analyses[a].name] = std::move(saved);
  }
  return state;
}

// The manifest is on disk after all that it stands for, and has its place after that.
void finish_checkpoint(const Run& run, const fs::path& path,
                       const std::function<CheckpointScope()>& scope) {
  comm::together(run.side, [&] {
    if (run.side.rank() != 0) return;
    const auto written = products::aside(path);
    const auto state = state_of(run, scope(), read_sidecars_part(written));
    (void)base::remove_all(written / sidecars_part);
    products::sync_folders(written);
    write_manifest(written, state, true);
    products::put_folder_in_place(path);
  });
}

fs::path find_checkpoint(const fs::path& path) {
  return products::find_whole_folder(path, manifest_name);
}

Earlier earlier_in(const SavedState& state, const model::Configuration& configuration,
                   const std::set<std::string>& restored) {
  Earlier out{.steps = state.steps, .counts = {}, .products = {}};
  for (const auto& analysis : configuration.analyses) {
    auto& counts = out.counts.emplace_back();
    const auto saved = state.analyses.find(analysis.name);
    if (saved == state.analyses.end() || !restored.contains(analysis.name)) continue;
    counts = saved->second.counts;
    const auto& products = saved->second.products;
    out.products.insert(out.products.end(), products.begin(), products.end());
  }
  return out;
}

void check_meshes(const SavedState& state, const model::Catalogue& catalogue,
                  const std::set<std::string>& restored) {
  for (const auto& [name, saved] : state.analyses) {
    if (!restored.contains(name)) continue;
    for (const auto& [mesh, was] : saved.meshes) {
      const auto* now = catalogue.find_mesh(mesh);
      if (now == nullptr || describe(*now) == was) continue;
      base::fail(
          ErrorCode::Configuration,
          "analysis '{}' cannot resume: the checkpoint is of a {} ('{}'), and this run has a "
          "{}; resume on the same mesh, or give the analysis another name, so that it "
          "starts from scratch",
          name, was, mesh, describe(*now));
    }
  }
}

SuccessorState::SuccessorState(const fs::path& output, uint64_t run)
    : root_(output / fmt::format(".sidecars-{:016x}", run)) {}

fs::path SuccessorState::folder() const { return root_ / (generation_ % 2 == 0 ? "a" : "b"); }

fs::path SuccessorState::next_folder() const { return root_ / (generation_ % 2 == 0 ? "b" : "a"); }

std::optional<SavedState> SuccessorState::read() {
  std::optional<SavedState> newest;
  std::exception_ptr damaged;
  for (const char* name : {"a", "b"}) try {
      std::error_code error;
      if (!fs::exists(root_ / name / manifest_name, error)) continue;
      auto state = read_manifest(root_ / name);
      if (!newest || state.generation > newest->generation) newest = std::move(state);
    } catch (const std::exception&) {
      damaged = std::current_exception();
    }
  if (!newest && damaged) std::rethrow_exception(damaged);
  generation_ = newest ? newest->generation : 0;
  return newest;
}

void SuccessorState::complete(SavedState state) {
  state.generation = generation_ + 1;
  write_manifest(next_folder(), state, false);
  ++generation_;
}

namespace {

/// Folders in a folder. None if it cannot be read.
std::vector<fs::path> folders_in(const fs::path& folder) {
  auto out = base::entries_of(folder);
  std::error_code error;
  std::erase_if(out, [&](const auto& entry) { return !fs::is_directory(entry, error); });
  return out;
}

/// A state has a folder for each analysis, and in it one for each stage.
void remove_node_files(const fs::path& state, int node) {
  std::error_code ignored;
  for (const auto& analysis : folders_in(state))
    for (const auto& stage : folders_in(analysis))
      fs::remove(stagehost::state_file(stage, node), ignored);
}

}  // namespace

void SuccessorState::remove_files_in_next(int node) const {
  remove_node_files(next_folder(), node);
}

void SuccessorState::remove_files(int node) const {
  for (const char* name : {"a", "b"}) remove_node_files(root_ / name, node);
}

void SuccessorState::clear_next() const { (void)base::remove_all(next_folder()); }

void SuccessorState::remove() const noexcept { (void)base::remove_all(root_); }

namespace {

/// The beginning of the names of all migration folders. These lie beside each other, since a
/// folder that they had in common would be left by a run that is killed.
std::string migration_prefix(const Run& run) { return ".moving-" + id_of(run.id) + "-"; }

}  // namespace

fs::path migration_folder(const Run& run, size_t analysis, int64_t number) {
  return fs::absolute(run.configuration.output) /
         fmt::format("{}{}-{}", migration_prefix(run), analysis, number);
}

void save_for_migration(Run& run, const stagehost::Chain& chain, size_t analysis,
                        const fs::path& folder, int64_t missing) {
  const auto& spec = run.configuration.analyses[analysis];
  fs::path place;
  together(run.side, [&] { place = folder / spec.name; });
  chain.save(place, {run.side, run.on_node, run.leaders}, spec.cut(), false);
  together(run.side, [&] {
    if (run.side.rank() != 0) return;
    SavedState state;
    state.runs.push_back(id_of(run.id));
    state.analyses[spec.name] = {.missing = missing, .products = run.sink.products_of(spec.name)};
    write_manifest(folder, state, false);
  });
  run.sink.remove(spec.name);
}

bool is_saved(const Run& run, const fs::path& folder) {
  bool found = false;
  together(run.side, [&] {
    std::error_code error;
    found = run.side.rank() == 0 && fs::exists(folder / manifest_name, error);
  });
  return run.side.reduced<int32_t>(found ? 1 : 0, comm::Operation::Max) != 0;
}

Migrated restore_migrated(Run& run, size_t analysis, const ProducedFields& produced,
                          const fs::path& folder) {
  const auto& spec = run.configuration.analyses[analysis];
  const bool root = run.side.rank() == 0;
  Migrated out;
  fs::path place;
  together(run.side, [&] {
    place = folder / spec.name;
    out.chain = make_behind_cut(run, analysis, produced);
    if (!root) return;
    const auto saved = read_manifest(folder).analyses[spec.name];
    out.missing = saved.missing;
    for (const auto& product : saved.products) run.sink.add(product);
  });
  out.missing = run.side.reduced(out.missing, comm::Operation::Max);
  out.chain->restore(place, run.side, spec.cut());
  if (root) (void)base::remove_all(folder);
  return out;
}

void remove_migration_folders(const Run& run) {
  const auto prefix = migration_prefix(run);
  for (const auto& entry : base::entries_of(run.configuration.output))
    if (entry.filename().string().starts_with(prefix)) (void)base::remove_all(entry);
}

}  // namespace pillion::run
