// SPDX-License-Identifier: BSD-3-Clause
// Manifests as YAML, and the three uses of a saved state.
#include "run/saved_state.hpp"

#include <pillion/version.h>

#include "base/checksum.hpp"
#include "base/folder.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "run/run_marker.hpp"
#include "stagehost/state.hpp"

namespace pillion::run {

namespace fs = std::filesystem;
using comm::together;

namespace {

constexpr const char* kind = "saved state 2";

/// The last line of a manifest: the CRC-32C of the lines before.
constexpr const char* checksum_key = "checksum";

std::string format_checksum(const std::string& text) {
  return fmt::format("{}: \"{:08x}\"\n", checksum_key, base::crc32c(text.data(), text.size()));
}

std::string format_costs(const CostCounters& costs) {
  std::vector<std::string> numbers;
  std::apply([&](auto... member) { (numbers.push_back(fmt::format("{}", costs.*member)), ...); },
             CostCounters::members());
  return fmt::format("{}", fmt::join(numbers, ", "));
}

void read_number(const base::Value& value, double& number) { number = value.as_real(); }
void read_number(const base::Value& value, int64_t& number) { number = value.as_integer(); }

CostCounters read_costs(const base::Value& list) {
  CostCounters costs;
  constexpr size_t wanted = std::tuple_size_v<decltype(CostCounters::members())>;
  if (list.entries.size() != wanted)
    list.fail(fmt::format("there are {} costs where {} are expected", list.entries.size(), wanted));
  size_t next = 0;
  std::apply(
      [&](auto... member) { (read_number(list.entries[next++].second, costs.*member), ...); },
      CostCounters::members());
  return costs;
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
  const auto& schedule = saved.schedule;
  return fmt::format(
      "  {}:\n    reached: {}\n    fired: {}\n    skipped: {}\n    over: {}\n    earlier: {}\n"
      "    missing: {}\n    costs: [{}]\n    products: [{}]\n",
      base::json_text(name), schedule.reached ? std::to_string(*schedule.reached) : "null",
      schedule.fired, schedule.skipped, saved.over, saved.earlier, saved.missing,
      format_costs(saved.costs), fmt::join(products, ", "));
}

SavedAnalysis read_analysis(const std::string& name, const base::Value& value) {
  base::Reader reader(value, "'" + name + "'");
  SavedAnalysis saved;
  if (const auto* reached = reader.find("reached")) saved.schedule.reached = reached->as_integer();
  saved.schedule.fired = reader.require("fired").as_boolean();
  saved.schedule.skipped = reader.require("skipped").as_integer();
  saved.over = reader.require("over").as_integer();
  saved.earlier = reader.require("earlier").as_integer();
  saved.missing = reader.require("missing").as_integer();
  saved.costs = read_costs(reader.require("costs"));
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
      "analyses:{}\n",
      kind, PILLION_VERSION, base::json_list(state.runs), state.step, state.time, state.offset,
      state.generation, state.analyses.empty() ? " {}" : "");
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

void begin_checkpoint(const Run& run, const fs::path& path, bool sidecars_answer) {
  comm::together(run.side, [&] {
    if (path.filename().empty())
      base::fail(ErrorCode::Argument, "'{}' cannot name a checkpoint", path.string());
    if (!sidecars_answer)
      base::fail(ErrorCode::State, "no checkpoint can be made: the sidecars do not answer");
    if (run.side.rank() != 0) return;
    products::discard_folder_aside(path);
    products::make_folder(products::aside(path));
  });
}

SavedState state_of(const Run& run, const Agenda& agenda, size_t analyses) {
  SavedState state{.step = agenda.last_step(),
                   .time = agenda.last_time(),
                   .offset = agenda.offset(),
                   .runs = run.continues,
                   .analyses = {}};
  state.runs.push_back(id_of(run.id));
  for (size_t a = 0; a < analyses; ++a)
    if (run.enabled(a))
      state.analyses[run.configuration.analyses[a].name].schedule = agenda.schedule_state(a);
  return state;
}

void finish_checkpoint(const Run& run, const fs::path& path, const SavedState& state,
                       const std::optional<Error>& failure) {
  comm::together(run.side, [&] {
    if (failure) throw *failure;
    if (run.side.rank() != 0) return;
    write_manifest(products::aside(path), state, true);
    products::put_folder_in_place(path);
  });
}

SuccessorState::SuccessorState(const fs::path& output, uint64_t run)
    : root_(output / fmt::format(".sidecars-{:016x}", run)) {}

fs::path SuccessorState::folder() const { return root_ / (generation_ % 2 == 0 ? "a" : "b"); }

fs::path SuccessorState::next_folder() const { return root_ / (generation_ % 2 == 0 ? "b" : "a"); }

std::optional<SavedState> SuccessorState::read() {
  std::optional<SavedState> newest;
  for (const char* name : {"a", "b"}) {
    std::error_code error;
    if (!fs::exists(root_ / name / manifest_name, error)) continue;
    auto state = read_manifest(root_ / name);
    if (!newest || state.generation > newest->generation) newest = std::move(state);
  }
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
