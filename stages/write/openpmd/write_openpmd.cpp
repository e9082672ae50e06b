// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_openpmd`: a file of openPMD for each step. The first peer makes it, all put
// their values into it, and it gets its name.

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "../../common/files.hpp"
#include "../../common/hdf5.hpp"
#include "../../common/messages.hpp"
#include "../../common/options.hpp"
#include "../cost_table.hpp"
#include "../step_list.hpp"
#include "file.hpp"
#include "values.hpp"

namespace pillion::stages::write_openpmd {
namespace {

namespace fs = std::filesystem;

int64_t product(const std::vector<int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

class WriteOpenPmd final : public stage::Stage {
 public:
  explicit WriteOpenPmd(stage::Setup& setup);

  void run(stage::Step& step) override;
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  /// A file that peers put values into, and what this one has put.
  struct Target {
    fs::path path;
    OpenFiles files{false};
    std::vector<int64_t> places{};  ///< of datasets
  };

  [[nodiscard]] std::string folder() const { return name_ + "_openpmd"; }
  [[nodiscard]] std::string pattern() const { return name_ + "_%09T.h5"; }
  [[nodiscard]] std::string file_name(int64_t step) const;
  void begin(const stage::Step& step);
  [[nodiscard]] StepText text_of(const stage::Step& step) const;
  /// What there is in this step, and the first row of this peer's particles, by group. [peers]
  [[nodiscard]] std::vector<Part> parts_of(const stage::Step& step, std::vector<int64_t>& first);
  static Part particles(const stage::Step& step, const Group& group, int64_t& first);
  static std::vector<Part> levels(const stage::Step& step, const Group& group);
  static std::vector<int64_t> boxes_of(const stage::Step& step, const Group& group, int32_t level);
  static Part level_of(const stage::Step& step, const Group& group, int32_t level, const Index& lo,
                       const Index& hi);
  void write_particles(const stage::Step& step, const Part& part, int64_t first, size_t dataset,
                       Target& target) const;
  void write_slabs(const stage::Step& step, const Part& part, size_t dataset, Target& target) const;
  void write_boxes(const stage::Step& step, const Part& part, size_t dataset, Target& target) const;

  std::vector<Group> groups_;
  std::string name_;
  bool durable_;
  write::StepList steps_;
  write::CostTable costs_;
  bool has_begun_ = false;
};

WriteOpenPmd::WriteOpenPmd(stage::Setup& setup)
    : groups_(groups_of(setup)),
      name_(dataset_name(setup, groups_.front().mesh.mesh)),
      durable_(setup["durable"].boolean()),
      steps_(contents_of(groups_), name_, name_ + ".pmd", name_ + "_openpmd"),
      costs_("write_" + name_ + "_openpmd", "Writing of " + name_ + " as openPMD") {
  double most = 0;
  for (auto& group : groups_) {
    double bytes = 0;
    for (const auto& record : group.records)
      bytes += static_cast<double>(write::WrittenFields::element_size(record.field));
    // A component at a time; of levels it is also sent and received.
    most = std::max(most, (group.has_boxes_as_shared() ? 3 : 1) * sizeof(double) / bytes);
    if (group.is_particles()) group.input = setup.input(stage::Input::as_shared(group.fields));
    else if (group.has_boxes_as_shared())
      group.input = setup.input(stage::Input::as_shared(group.fields).with_levels());
    else group.input = setup.input(stage::Input::slabs(group.fields, group.mesh.axes - 1));
  }
  setup.memory(most);
  setup.product(name_ + ".pmd");
  setup.product(folder());
  setup.survives_failures();
}

std::string WriteOpenPmd::file_name(int64_t step) const {
  char number[32];
  std::snprintf(number, sizeof number, "_%09lld.h5", static_cast<long long>(step));
  return name_ + number;
}

// Readers take every file of the series, so that none of an earlier run may be left that this one
// will write again.
void WriteOpenPmd::begin(const stage::Step& step) {
  if (std::exchange(has_begun_, true)) return;
  (void)steps_.begin(step);
  const fs::path products = fs::path(step.product_folder()) / folder();
  if (step.peer() == 0) {
    std::set<std::string> kept{".steps"};
    for (const auto& of : steps_.steps()) kept.insert(file_name(of.step));
    for (const auto& entry : fs::directory_iterator(products))
      if (!kept.contains(entry.path().filename().string())) fs::remove_all(entry.path());
  }
  step.agree();
}

StepText WriteOpenPmd::text_of(const stage::Step& step) const {
  StepText out{step.index(),
               step.time(),
               0,
               step.units("time"),
               pattern(),
               step.origin(name_, "A step as openPMD"),
               {}};
  constexpr std::string_view key = "\nversion: ";
  if (const auto at = out.origin.find(key); at != std::string::npos)
    out.version =
        out.origin.substr(at + key.size(), out.origin.find('\n', at + 1) - at - key.size());
  if (!steps_.steps().empty() && steps_.steps().back().step < step.index()) {
    const auto& last = steps_.steps().back();
    out.time_step = (step.time() - last.time) / static_cast<double>(step.index() - last.step);
  }
  for (const auto& name : step.scalars())
    if (name == "dt" && !std::isnan(step.scalar(name))) out.time_step = step.scalar(name);
  return out;
}

Part WriteOpenPmd::particles(const stage::Step& step, const Group& group, int64_t& first) {
  std::vector<int64_t> counts(static_cast<size_t>(step.peers()));
  for (int32_t b = 0; b < step.block_count(group.input); ++b)
    counts[static_cast<size_t>(step.peer())] += step.block(group.input, b).owned();
  step.sum(std::span(counts));
  first = std::accumulate(counts.begin(), counts.begin() + step.peer(), int64_t{0});
  const auto& mesh = step.mesh(group.mesh.mesh);
  Part out{&group, 0,
           {0},    {std::accumulate(counts.begin(), counts.end(), int64_t{0})},
           {},     {},
           {},     mesh.units,
           {},     mesh.coarsening};
  if (mesh.has_domain != 0) out.domain = stage::domain_of(mesh);
  return out;
}

Part WriteOpenPmd::level_of(const stage::Step& step, const Group& group, int32_t level,
                            const Index& lo, const Index& hi) {
  const auto& mesh = step.mesh(group.mesh.mesh);
  Part out{&group, level, {}, {}, {}, {}, {}, mesh.units, {}, mesh.coarsening};
  for (int32_t a = mesh.axes; a-- > 0;) {
    const auto d = static_cast<size_t>(a);
    int64_t cells = mesh.cells[a];
    for (int32_t l = 0; l < level; ++l) cells *= mesh.ratios[3 * l + a];
    const double spacing = mesh.length[a] / static_cast<double>(cells);
    out.lo.push_back(lo[d]);
    out.extent.push_back(hi[d] - lo[d]);
    out.spacing.push_back(spacing);
    out.offset.push_back(mesh.origin[a] + static_cast<double>(lo[d]) * spacing);
    // Of cells that stand for several the first one was kept.
    out.position.push_back(0.5 / mesh.coarsening);
  }
  return out;
}

// The coarsest level is the whole mesh, finer ones are as large as their boxes.
std::vector<Part> WriteOpenPmd::levels(const stage::Step& step, const Group& group) {
  const auto& mesh = step.mesh(group.mesh.mesh);
  std::vector<Part> out{
      level_of(step, group, 0, {}, {mesh.cells[0], mesh.cells[1], mesh.cells[2]})};
  if (!group.has_boxes_as_shared()) return out;
  const auto finer = static_cast<size_t>(mesh.levels - 1);
  std::vector<int64_t> least(6 * finer, std::numeric_limits<int64_t>::max());
  for (int32_t b = 0; b < step.block_count(group.input); ++b) {
    const auto block = step.block(group.input, b);
    if (block.level() == 0 || block.count() == 0) continue;
    auto* of_level = least.data() + 6 * (block.level() - 1);
    for (int d = 0; d < 3; ++d) {
      of_level[d] = std::min(of_level[d], block.inner_lo()[d]);
      of_level[3 + d] = std::min(of_level[3 + d], -block.inner_hi()[d]);
    }
  }
  step.min(std::span(least));
  for (size_t l = 0; l < finer; ++l) {
    const auto* at = least.data() + 6 * l;
    if (at[0] == std::numeric_limits<int64_t>::max()) continue;  // no box
    out.push_back(level_of(step, group, static_cast<int32_t>(l) + 1, {at[0], at[1], at[2]},
                           {-at[3], -at[4], -at[5]}));
  }
  for (auto& part : out) part.boxes = boxes_of(step, group, part.level);
  return out;
}

// The file lists boxes, so that a reader knows the cells of a level. The first peer writes the
// list.
std::vector<int64_t> WriteOpenPmd::boxes_of(const stage::Step& step, const Group& group,
                                            int32_t level) {
  std::vector<int64_t> own;
  for (int32_t b = 0; b < step.block_count(group.input); ++b) {
    const auto block = step.block(group.input, b);
    if (block.level() != level || block.count() == 0) continue;
    for (const auto* corner : {block.inner_lo(), block.inner_hi()})
      for (int32_t a = group.mesh.axes; a-- > 0;) own.push_back(corner[a]);
  }
  return gather_values(step, own);
}

std::vector<Part> WriteOpenPmd::parts_of(const stage::Step& step, std::vector<int64_t>& first) {
  std::vector<Part> out;
  for (const auto& group : groups_) {
    int64_t row = 0;
    if (group.is_particles()) out.push_back(particles(step, group, row));
    else
      for (auto& part : levels(step, group)) out.push_back(std::move(part));
    first.resize(out.size(), row);
  }
  return out;
}

void WriteOpenPmd::run(stage::Step& step) {
  const hdf5::Quiet quiet;
  begin(step);
  const write::Stopwatch watch;
  std::vector<int64_t> first;
  const auto parts = parts_of(step, first);
  const auto text = text_of(step);
  const fs::path path = fs::path(step.product_folder()) / folder() / file_name(step.index());
  std::optional<UnfinishedFile> file;
  std::vector<int64_t> made;
  if (step.peer() == 0) {
    file.emplace(path);
    made = make_file(file->aside(), text, parts);
  }
  Target target{UnfinishedFile::aside(path)};
  append(target.places, step.broadcast(std::as_bytes(std::span(made))));
  size_t dataset = 0;
  int64_t count = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto& part = parts[p];
    if (part.group->is_particles()) write_particles(step, part, first[p], dataset, target);
    else if (part.group->has_boxes_as_shared()) write_boxes(step, part, dataset, target);
    else write_slabs(step, part, dataset, target);
    dataset += datasets_of(part).size();
    count += product(part.extent);
  }
  if (durable_) target.files.sync();
  step.agree();
  if (file) file->finish(durable_);
  step.agree();
  steps_.add(step, {step.index(), step.time(), parts.front().coarsening, count});
  step.write_text(name_ + ".pmd", "Series of openPMD", nullptr, folder() + "/" + pattern() + "\n",
                  durable_);
  costs_.add(step, watch.seconds(), target.files.bytes());
  step.write(costs_.table());
}

void WriteOpenPmd::write_particles(const stage::Step& step, const Part& part, int64_t first,
                                   size_t dataset, Target& target) const {
  for (int32_t b = 0; b < step.block_count(part.group->input); ++b) {
    const auto block = step.block(part.group->input, b);
    size_t n = dataset;
    int32_t array = 0;
    for (const auto& record : part.group->records) {
      const auto& values = block[array++];
      const auto components = std::max<size_t>(record.components().size(), 1);
      for (size_t c = 0; c < components && block.owned() > 0; ++c, ++n)
        target.files.write(
            target.path,
            component_of(block, values, static_cast<int32_t>(c), {}, {block.owned(), 1, 1}),
            target.places[n] + first * static_cast<int64_t>(write::bytes_of(values.type)));
    }
    first += block.owned();
  }
}

void WriteOpenPmd::write_slabs(const stage::Step& step, const Part& part, size_t dataset,
                               Target& target) const {
  const auto datasets = datasets_of(part);
  const auto slow = static_cast<size_t>(part.group->mesh.axes - 1);
  const int64_t plane = product(part.extent) / std::max<int64_t>(part.extent[0], 1);
  for (int32_t b = 0; b < step.block_count(part.group->input); ++b) {
    const auto block = step.block(part.group->input, b);
    if (block.count() == 0) continue;
    Index lo{}, hi{};
    std::copy_n(block.lo(), 3, lo.begin());
    std::copy_n(block.hi(), 3, hi.begin());
    for (size_t n = 0; n < datasets.size(); ++n) {
      const auto array = static_cast<int32_t>(datasets[n].record - part.group->records.data());
      const auto values = block[array];
      const auto size = static_cast<int64_t>(write::bytes_of(values.type));
      target.files.write(target.path, component_of(block, values, datasets[n].component, lo, hi),
                         target.places[dataset + n] + lo[slow] * plane * size);
    }
  }
}

// Boxes go to the peers that have planes of them, so that each writes one piece, gaps included.
void WriteOpenPmd::write_boxes(const stage::Step& step, const Part& part, size_t dataset,
                               Target& target) const {
  const auto datasets = datasets_of(part);
  const auto slow = static_cast<size_t>(part.group->mesh.axes - 1);
  const int64_t rows = part.extent[0], peers = step.peers();
  const int64_t plane = product(part.extent) / std::max<int64_t>(rows, 1);
  const auto first_of = [&](int64_t peer) { return part.lo[0] + rows * peer / peers; };
  const int64_t mine = first_of(step.peer()), next = first_of(step.peer() + 1);
  for (size_t n = 0; n < datasets.size(); ++n) {
    const auto type = datasets[n].record->field.type;
    const auto size = write::bytes_of(type);
    std::map<int32_t, Bytes> out;
    for (int32_t b = 0; b < step.block_count(part.group->input); ++b) {
      const auto block = step.block(part.group->input, b);
      if (block.level() != part.level || block.count() == 0) continue;
      const auto values =
          block[static_cast<int32_t>(datasets[n].record - part.group->records.data())];
      for (int64_t peer = 0; peer < peers; ++peer) {
        BoxHead head{};
        std::copy_n(block.inner_lo(), 3, head.lo.begin());
        std::copy_n(block.inner_hi(), 3, head.hi.begin());
        head.lo[slow] = std::max(head.lo[slow], first_of(peer));
        head.hi[slow] = std::min(head.hi[slow], first_of(peer + 1));
        if (head.lo[slow] >= head.hi[slow]) continue;
        auto& to = out[static_cast<int32_t>(peer)];
        append(to, std::as_bytes(std::span(&head, 1)));
        auto part = component_of(block, values, datasets[n].component, head.lo, head.hi);
        leave_out_hidden(block, type, head.lo, head.hi, part);
        append(to, part);
      }
    }
    const auto in = step.exchange(messages_of(out));
    if (mine == next) continue;
    auto slab = nothing(type, (next - mine) * plane);
    for (const auto& message : in)
      for (size_t at = 0; at < message.bytes.size();) {
        BoxHead head{};
        std::memcpy(&head, message.bytes.data() + at, sizeof head);
        at += sizeof head;
        at += place(part, head, mine, message.bytes.subspan(at), size, slab);
      }
    target.files.write(
        target.path, slab,
        target.places[dataset + n] + (mine - part.lo[0]) * plane * static_cast<int64_t>(size));
  }
}

void WriteOpenPmd::save(stage::State& state) const {
  steps_.save(state);
  costs_.save(state);
}

void WriteOpenPmd::restore(stage::State& state) {
  steps_.restore(state);
  costs_.restore(state);
}

namespace {

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields to write, on uniform meshes and of particles; each mesh of particles is a species"},
    {"name", "name", "null", "Of the series; that of the first field's mesh if left out"},
    {"records", "{field: name, …}", "null", "What the series calls fields, if not by their names"},
    {"durable", "true | false", "true", "A file gets its name only when it is on disk"},
};

}  // namespace

}  // namespace pillion::stages::write_openpmd

PILLION_STAGE(pillion::stages::write_openpmd::WriteOpenPmd, "write_openpmd",
              "Meshes and particles as openPMD, a file for each step",
              pillion::stages::write_openpmd::parameters)
