// SPDX-License-Identifier: BSD-3-Clause
// Reading `sidecars:`, and refusing what contradicts itself.
#include "model/sidecars.hpp"

#include "base/text.hpp"
#include "model/names.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

const char* name_of(WhenFull policy) {
  switch (policy) {
    case WhenFull::Skip: return "skip";
    case WhenFull::Wait: return "wait";
    case WhenFull::Coarsen: return "coarsen";
    case WhenFull::Spill: return "spill";
  }
  return "unknown";
}

const char* name_of(Job job) { return job == Job::Same ? "same" : "separate"; }

namespace {

WhenFull read_policy(const Value& value) {
  const std::string& text = value.as_text();
  for (const auto policy : {WhenFull::Skip, WhenFull::Wait, WhenFull::Coarsen, WhenFull::Spill})
    if (text == name_of(policy)) return policy;
  value.fail(fmt::format("unknown policy '{}'{}", text,
                         base::suggestion(text, {"skip", "wait", "coarsen", "spill"})));
}

Job read_job(const Value& value) {
  const std::string& text = value.as_text();
  for (const auto job : {Job::Same, Job::Separate})
    if (text == name_of(job)) return job;
  value.fail(fmt::format("unknown job '{}'{}", text, base::suggestion(text, {"same", "separate"})));
}

Mapping read_mapping(const Value& value) {
  const std::string& text = value.as_text();
  std::vector<std::string> names;
  for (const auto mapping : all_mappings) {
    if (text == name_of(mapping)) return mapping;
    names.emplace_back(name_of(mapping));
  }
  value.fail(fmt::format("unknown mapping '{}'{}", text, base::suggestion(text, names)));
}

int64_t read_count(const Value& value, const char* what) {
  const int64_t count = value.as_integer();
  if (count < 0)
    value.fail(fmt::format("the number of {} cannot be {}; 0 means none", what, count));
  return count;
}

void refuse_nodes(Reader& reader) {
  if (const Value* nodes = reader.find("nodes"))
    nodes->fail(
        "'sidecars: {nodes: ...}' is reserved for a later version; use 'per_node: K' for K "
        "sidecars on every node, or 'ranks: N' and start them on nodes of their own");
}

void read_counts(Reader& reader, SidecarSpec& spec) {
  const Value* ranks = reader.find("ranks");
  const Value* per_node = reader.find("per_node");
  if (ranks != nullptr) spec.ranks = read_count(*ranks, "sidecar ranks");
  if (per_node != nullptr) spec.per_node = read_count(*per_node, "sidecars per node");
  if (spec.ranks > 0 && spec.per_node > 0)
    per_node->fail(
        fmt::format("'per_node: {}' and 'ranks: {}' exclude each other; 'per_node' counts sidecars "
                    "on every node, 'ranks' those of the whole run: keep one of them",
                    spec.per_node, spec.ranks));
  if (spec.job != Job::Separate) return;
  if (spec.ranks > 0)
    ranks->fail(
        fmt::format("'ranks: {}' and 'job: separate' exclude each other; separate sidecars attach "
                    "on the nodes of the simulation: say 'per_node: K', or leave out 'job'",
                    spec.ranks));
  if (per_node == nullptr) spec.per_node = 1;
  if (spec.per_node == 0)
    per_node->fail(
        "'per_node: 0' and 'job: separate' exclude each other; set 'per_node' to the number "
        "of sidecars on every node, or leave it out for 1");
}

void read_separate(Reader& reader, SidecarSpec& spec) {
  const Value* restart = reader.find("restart");
  const Value* launch = reader.find("launch");
  const Value* first = restart != nullptr ? restart : launch;
  if (first != nullptr && spec.job != Job::Separate)
    first->fail(
        fmt::format("'{}: {}' is for separate sidecars only; add 'job: separate' or leave "
                    "it out",
                    first == restart ? "restart" : "launch", first->text));
  if (restart != nullptr) spec.restart = read_count(*restart, "restarts");
  if (launch != nullptr) spec.launch = launch->as_text();
}

void read_locations(Reader& reader, SidecarSpec& spec) {
  if (const Value* spread = reader.find("spread"); spread != nullptr)
    spread->fail("unknown key 'spread'; it is called 'mapping'");
  const Value* mapping = reader.find("mapping");
  const Value* mesh = reader.find("mesh");
  if (mapping != nullptr) spec.mapping = read_mapping(*mapping);
  const Value* first = mapping != nullptr ? mapping : mesh;
  if (first != nullptr && spec.job == Job::Separate)
    first->fail(
        fmt::format("'{}' chooses sidecars among the ranks of the job, but the file says "
                    "'job: separate'; leave out one of them",
                    first == mapping ? "mapping" : "mesh"));
  if (mesh == nullptr) return;
  if (!mesh->is_list() || mesh->entries.size() != 2)
    mesh->fail(
        "'mesh' needs the columns and rows of the mesh that joins the cores of a node, such "
        "as [8, 8]");
  const auto size = [&](size_t index) {
    const Value& value = mesh->entries[index].second;
    const int64_t cores = value.as_integer();
    if (cores < 1 || cores > 4096)
      value.fail(fmt::format("a mesh cannot have {} columns or rows", cores));
    return cores;
  };
  spec.columns = size(0);
  spec.rows = size(1);
}

void read_spill(Reader& reader, SidecarSpec& spec) {
  const Value* spill = reader.find("spill");
  if (spill == nullptr) return;
  if (spec.when_full != WhenFull::Spill)
    spill->fail(
        fmt::format("'spill' is for 'when_full: spill' only, but the policy is '{}'; change the "
                    "one or leave out the other",
                    name_of(spec.when_full)));
  Reader inner(*spill, "'spill'");
  if (const Value* folder = inner.find("folder")) spec.spill_folder = read_path(*folder);
  if (const Value* limit = inner.find("limit")) {
    spec.spill_limit = limit->as_bytes();
    if (spec.spill_limit == 0)
      limit->fail(
          "'limit: 0' leaves no room for a spill; use 'when_full: skip', or set a larger limit");
  }
  inner.finish();
}

void read_attached(Reader& reader, SidecarSpec& spec) {
  const Value* attached = reader.find("attached");
  if (attached == nullptr) return;
  if (!spec.through_node())
    attached->fail(
        "'attached' is for runs that jobs can attach to, through the memory of their nodes; add "
        "'per_node: K' or 'job: separate', or leave it out");
  if (attached->is_scalar()) {
    spec.attached.allowed = attached->as_boolean();
    return;
  }
  Reader inner(*attached, "'attached'");
  if (const Value* time = inner.find("time")) spec.attached.time = time->as_share();
  if (const Value* memory = inner.find("memory")) spec.attached.memory = memory->as_bytes();
  inner.finish();
}

}  // namespace

SidecarSpec read_sidecars(const Value& value, base::Diagnostics* mistakes) {
  SidecarSpec spec;
  Reader reader(value, "'sidecars'");
  const auto read = [&](auto&& part) { return attempt(mistakes, part); };
  read([&] { refuse_nodes(reader); });
  const bool knows_job = read([&] {
    if (const Value* job = reader.find("job")) spec.job = read_job(*job);
  });
  read([&] { read_counts(reader, spec); });
  read([&] {
    const Value* memory = reader.find("memory");
    if (memory == nullptr) return;
    spec.memory = memory->as_bytes();
    constexpr int64_t least = 100;  // bytes: less is not even a step's header
    if (spec.memory >= least) return;
    memory->fail(fmt::format(
        "'memory: {}' is {} bytes, which leaves no room for a publication; give a size such as "
        "'{} MiB', or leave it out",
        memory->text, spec.memory, spec.memory > 0 ? spec.memory : 256));
  });
  read([&] {
    const Value* receive = reader.find("receive");
    if (receive == nullptr) return;
    spec.receive = receive->as_bytes();
    if (spec.receive == 0)
      receive->fail("'receive: 0' leaves no room for a publication; set a size, or leave it out");
  });
  read([&] {
    const Value* threads = reader.find("copy_threads");
    if (threads == nullptr) return;
    constexpr int64_t most = 64;
    spec.copy_threads = threads->as_integer();
    if (spec.copy_threads < 1 || spec.copy_threads > most)
      threads->fail(
          fmt::format("'copy_threads' is the number of threads that copy on each rank, "
                      "from 1 to {}, not {}",
                      most, spec.copy_threads));
  });
  const bool knows_policy = read([&] {
    if (const Value* policy = reader.find("when_full")) spec.when_full = read_policy(*policy);
  });
  read([&] {
    if (const Value* deadline = reader.find("deadline")) spec.deadline = deadline->as_seconds();
  });
  if (!knows_job || !knows_policy) return spec;
  read([&] { read_locations(reader, spec); });
  read([&] { read_separate(reader, spec); });
  read([&] { read_spill(reader, spec); });
  read([&] { read_attached(reader, spec); });
  reader.finish(mistakes);
  return spec;
}

void settle_sidecars(SidecarSpec& spec, int64_t wanted, const Value& root) {
  if (spec.job == Job::Separate && wanted != 0)
    root.fail(
        fmt::format("{} ranks were started as sidecars, but the file says 'job: separate'; attach "
                    "sidecars with a job of their own, or leave out 'job'",
                    wanted));
  if (spec.through_node()) {
    if (spec.receive > 0)
      root.find("sidecars")
          ->find("receive")
          ->fail(
              "'receive' is for sidecars that publications reach through the network; leave it "
              "out, for "
              "these read them in the memory of the simulation");
    return;
  }
  if (spec.ranks == 0) spec.ranks = wanted;
  if (wanted != 0 && spec.ranks != wanted)
    root.fail(fmt::format(
        "{} ranks were started as sidecars, but the file says 'sidecars: {{ranks: {}}}'", wanted,
        spec.ranks));
  if (spec.ranks > 0 && spec.when_full == WhenFull::Spill)
    root.find("sidecars")
        ->find("when_full")
        ->fail(
            "'when_full: spill' needs sidecars on the simulation's nodes; use 'per_node: K' or "
            "'job: "
            "separate' instead of 'ranks', or another policy");
}

}  // namespace pillion::model
