// SPDX-License-Identifier: BSD-3-Clause
// The stage `write_nek`: a field file of Nek5000 for each step. Elements are in the order of their
// numbers, whichever peer has them, so that a file is the same at any placement: each peer writes
// its elements into one file, in runs of consecutive ones.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../common/elements.hpp"
#include "../../common/files.hpp"
#include "../../common/messages.hpp"
#include "../../common/options.hpp"
#include "../cost_table.hpp"
#include "../fields.hpp"
#include "../step_list.hpp"
#include "format.hpp"
#include "order.hpp"

namespace pillion::stages::write_nek {

namespace {

namespace fs = std::filesystem;

/// An element of this peer: where it is here, and its place in the file.
struct Element {
  int32_t block = 0;
  int64_t index = 0;
  int64_t number = 0;
  int64_t place = 0;
};

/// Calls use(first, end) for the elements that come one after the other in the file.
template <class F>
void for_each_run(const std::vector<Element>& elements, F&& use) {
  for (size_t first = 0, end = 0; first < elements.size(); first = end) {
    for (++end; end < elements.size() && elements[end].place == elements[end - 1].place + 1;) ++end;
    use(first, end);
  }
}

/// A digest of these values and those before, by the constants of FNV-1a and the steps of
/// MurmurHash.
uint64_t mixed(uint64_t digest, const std::vector<double>& values) {
  for (const double value : values) {
    digest = (digest ^ std::bit_cast<uint64_t>(value)) * 0x100000001b3U;
    digest ^= digest >> 33U;
  }
  return digest;
}

}  // namespace

class WriteNek final : public stage::Stage {
 public:
  explicit WriteNek(stage::Setup& setup);

  void run(stage::Step& step) override;
  void save(stage::State& state) const override;
  void restore(stage::State& state) override;

 private:
  enum class Coordinates { changed, each, none };

  int32_t input_of(const std::string& name);
  void put_numbers(const stage::Setup& setup);
  void put_coordinates(const stage::Setup& setup);
  void begin(const stage::Step& step);
  /// Elements of this peer in the order of their places, of `total` on all peers. [peers]
  [[nodiscard]] std::vector<Element> placed(const stage::Step& step, int64_t& total) const;
  [[nodiscard]] uint64_t digest_of(const stage::Step& step, const Element& element) const;
  /// Whether the file of this step has coordinates. [peers]
  [[nodiscard]] bool are_coordinates_due(const stage::Step& step,
                                         const std::vector<Element>& elements);
  /// Writes this peer's elements of a part that begins at byte `at`, and adds their extremes.
  template <class To>
  void write_part(const stage::Step& step, const Part& part, const std::vector<Element>& elements,
                  int64_t at, OpenFiles& files, const fs::path& path,
                  std::vector<float>& extremes) const;
  void write_parts(const stage::Step& step, const std::vector<Part>& parts,
                   const std::vector<Element>& elements, int64_t total, const fs::path& path,
                   int64_t& bytes) const;
  void write_list(const stage::Step& step) const;

  write::WrittenFields fields_;
  std::string name_;
  Places places_;
  std::vector<std::string> inputs_;
  std::optional<int32_t> numbers_, coordinates_;  ///< among the inputs
  Coordinates when_ = Coordinates::changed;
  bool is_double_ = false, durable_;
  int64_t at_once_;
  int32_t input_ = 0;
  write::StepList steps_;
  write::CostTable costs_;
  bool has_begun_ = false;
  std::array<int64_t, 2> digest_{-1, -1};  ///< of the coordinates in the last file that has them
  std::array<int64_t, 2> next_digest_{-1, -1};  ///< of those of this step
};

WriteNek::WriteNek(stage::Setup& setup)
    : fields_(setup, true),
      name_(dataset_name(setup, fields_.mesh().mesh)),
      when_(static_cast<Coordinates>(choice(setup["coordinates"], {"changed", "each", "none"}))),
      durable_(setup["durable"].boolean()),
      at_once_(integer_from(setup["at_once"], 0, most_counted)),
      steps_(fields_, name_, name_ + ".nek5000", name_ + "_nek"),
      costs_("write_" + name_ + "_nek", "Writing of " + name_ + " as field files") {
  const auto list = setup["fields"];
  const auto& mesh = fields_.mesh();
  const int precision = choice(setup["precision"], {"auto", "single", "double"});
  std::vector<Named> named;
  for (size_t f = 0; f < fields_.names.size(); ++f) {
    const auto& field = fields_.fields[f];
    if (field.mesh_kind != PILLION_SPECTRAL || field.centering != PILLION_POINT ||
        field.point_set != nullptr || !stage::is_real(field.type))
      list.fail("field '" + fields_.names[f] +
                "' is not one of reals at the points of a spectral mesh, and field files of "
                "Nek5000 hold no others; write_raw takes fields of any mesh");
    if (f > 0 && fields_.names[f] == mesh.coordinates)
      list.fail("field '" + fields_.names[f] + "' is written as the coordinates; leave it out");
    is_double_ = is_double_ || field.type == PILLION_FLOAT64;
    named.push_back({fields_.names[f], field.components});
    input_of(fields_.names[f]);
  }
  if (precision != 0) is_double_ = precision == 2;
  try {
    places_ = places_of(named, mesh.axes);
  } catch (const Error& e) {
    list.fail(e.what());
  }
  put_numbers(setup);
  put_coordinates(setup);
  input_ = setup.input(stage::Input::as_shared(inputs_));
  setup.memory(2);  // one part of a file, packed, and elements in their order
  setup.product(name_ + ".nek5000");
  setup.product(name_ + "_nek");
  setup.survives_failures();
}

int32_t WriteNek::input_of(const std::string& name) {
  const auto at = std::find(inputs_.begin(), inputs_.end(), name);
  const auto place = static_cast<int32_t>(at - inputs_.begin());
  if (at == inputs_.end()) inputs_.push_back(name);
  return place;
}

void WriteNek::put_numbers(const stage::Setup& setup) {
  const auto wanted = setup["numbers"];
  const bool is_auto = wanted.text() == "auto";
  const auto name = is_auto ? std::string("number") : wanted.text();
  if (name == "none") return;
  pillion_field_description field{};
  try {
    field = setup.field(name, wanted);
  } catch (const Error&) {
    if (is_auto) return;
    throw;
  }
  const bool is_integer = field.type == PILLION_INT32 || field.type == PILLION_INT64;
  if (std::string(field.mesh) == fields_.mesh().mesh && field.centering == PILLION_CELL &&
      field.components == 1 && is_integer)
    numbers_ = input_of(name);
  else if (!is_auto)
    wanted.fail("'" + name + "' is not an integer of each element of mesh '" + fields_.mesh().mesh +
                "'");
}

void WriteNek::put_coordinates(const stage::Setup& setup) {
  const std::string name = fields_.mesh().coordinates;
  if (when_ == Coordinates::none) return;
  if (name.empty())
    setup["coordinates"].fail("mesh '" + std::string(fields_.mesh().mesh) +
                              "' does not name the field of its `coordinates`: name it, or say "
                              "`coordinates: none`");
  const auto field = setup.field(name, setup["coordinates"]);
  if (field.components != fields_.mesh().axes)
    setup["coordinates"].fail("field '" + name + "' has " + std::to_string(field.components) +
                              " components; field files of Nek5000 hold as many as elements have "
                              "dimensions");
  coordinates_ = input_of(name);
}

void WriteNek::begin(const stage::Step& step) {
  if (!has_begun_ && steps_.begin(step)) write_list(step);
  if (step.peer() == 0 && !has_begun_) {
    // Files of an earlier run that this one will write again, and what a killed run has left.
    const fs::path products = step.product_folder();
    std::set<std::string> kept{".steps"};
    for (size_t n = 1; n <= steps_.steps().size(); ++n)
      kept.insert((products / file_name(name_, n)).filename().string());
    for (const auto& entry : fs::directory_iterator(products / (name_ + "_nek")))
      if (!kept.contains(entry.path().filename().string())) fs::remove(entry.path());
  }
  has_begun_ = true;
}

std::vector<Element> WriteNek::placed(const stage::Step& step, int64_t& total) const {
  std::vector<Element> out;
  for (int32_t b = 0; b < step.block_count(input_); ++b) {
    const auto block = step.block(input_, b);
    for (int64_t e = 0; e < block.count(); ++e) {
      Element element{b, e};
      if (numbers_)
        block[*numbers_].visit([&](const auto* data) {
          element.number = static_cast<int64_t>(data[e * block[*numbers_].strides[0]]);
        });
      out.push_back(element);
    }
  }
  // By peer: how many elements it has.
  std::vector<int64_t> counts(static_cast<size_t>(step.peers()));
  counts[static_cast<size_t>(step.peer())] = static_cast<int64_t>(out.size());
  step.sum(std::span(counts));
  total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (numbers_) {
    std::vector<int64_t> mine;
    for (const auto& element : out) mine.push_back(element.number);
    const auto places = places_in_order(step, mine);
    for (size_t e = 0; e < out.size(); ++e) out[e].place = places[e];
  } else {
    int64_t next = std::accumulate(counts.begin(), counts.begin() + step.peer(), int64_t{0});
    for (auto& element : out) element.number = element.place = next++;
  }
  std::sort(out.begin(), out.end(),
            [](const Element& a, const Element& b) { return a.place < b.place; });
  return out;
}

uint64_t WriteNek::digest_of(const stage::Step& step, const Element& element) const {
  std::vector<double> values(static_cast<size_t>(points_of(fields_.mesh())));
  const auto array = unfolded(step.block(input_, element.block)[*coordinates_], fields_.mesh());
  auto digest = static_cast<uint64_t>(element.number);
  for (int32_t c = 0; c < fields_.mesh().axes; ++c) {
    array.visit([&](const auto* data) {
      const auto* from = data + element.index * array.strides[1] + c * array.strides[3];
      for (size_t p = 0; p < values.size(); ++p)
        values[p] = static_cast<double>(from[static_cast<int64_t>(p) * array.strides[0]]);
    });
    digest = mixed(digest, values);
  }
  return digest;
}

// A sum over elements, so that it does not matter which peer has which.
bool WriteNek::are_coordinates_due(const stage::Step& step, const std::vector<Element>& elements) {
  if (!coordinates_ || when_ == Coordinates::each) return coordinates_.has_value();
  std::array<int64_t, 2> digest = {0, 0};
  for (const auto& element : elements) {
    const uint64_t own = digest_of(step, element);
    digest[0] += static_cast<int64_t>(own >> 32U);
    digest[1] += static_cast<int64_t>(own & 0xffffffffU);
  }
  step.sum(std::span<int64_t>(digest));
  next_digest_ = digest;
  return digest_ != digest;
}

void WriteNek::run(stage::Step& step) {
  begin(step);
  const write::Stopwatch watch;
  int64_t total = 0;
  const auto elements = placed(step, total);
  const bool with_coordinates = are_coordinates_due(step, elements);
  std::vector<Part> parts;
  if (with_coordinates) {
    auto& part = parts.emplace_back();
    for (int32_t c = 0; c < fields_.mesh().axes; ++c) part.push_back({*coordinates_, c});
  }
  for (const Part* part : {&places_.velocity, &places_.pressure, &places_.temperature})
    if (!part->empty()) parts.push_back(*part);
  parts.insert(parts.end(), places_.scalars.begin(), places_.scalars.end());

  const auto path = fs::path(step.product_folder()) / file_name(name_, steps_.steps().size() + 1);
  std::optional<UnfinishedFile> file;
  if (step.peer() == 0) file.emplace(path);
  step.agree();  // no peer writes before an older file of this name has been removed
  const auto aside = UnfinishedFile::aside(path);
  int64_t bytes = 0;
  step.in_turn(at_once_, [&] {
    if (step.peer() == 0) {
      const auto head = header_text({is_double_ ? 8 : 4, fields_.mesh().points, fields_.mesh().axes,
                                     total, step.time(), step.index(), with_coordinates},
                                    places_);
      const float tag = 6.54321F;  // by which readers know the order of bytes
      Bytes front(head.size() + sizeof tag);
      std::memcpy(front.data(), head.data(), head.size());
      std::memcpy(front.data() + head.size(), &tag, sizeof tag);
      OpenFiles files;
      files.write(aside, front, 0);
      bytes += files.bytes();
    }
    write_parts(step, parts, elements, total, aside, bytes);
  });
  step.agree();
  if (file) file->finish(durable_);
  step.agree();
  digest_ = next_digest_;
  steps_.add(step, {step.index(), step.time(), step.coarsening(fields_.mesh().mesh), total});
  write_list(step);
  costs_.add(step, watch.seconds(), bytes);
  step.write(costs_.table());
}

void WriteNek::write_parts(const stage::Step& step, const std::vector<Part>& parts,
                           const std::vector<Element>& elements, int64_t total,
                           const fs::path& path, int64_t& bytes) const {
  OpenFiles files;
  // With hexahedra, the least and the largest value of each component follow at the end, by
  // element.
  std::vector<std::vector<float>> extremes(parts.size());
  const int64_t value = is_double_ ? 8 : 4;
  int64_t at = header_size + 4;
  // Readers want numbers from 1 on without gaps, which those of Nek's own elements are.
  for_each_run(elements, [&](size_t first, size_t end) {
    std::vector<int32_t> ids(end - first);
    std::iota(ids.begin(), ids.end(), static_cast<int32_t>(elements[first].place + 1));
    files.write(path, std::as_bytes(std::span(ids)), at + 4 * elements[first].place);
  });
  at += 4 * total;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (is_double_) write_part<double>(step, parts[p], elements, at, files, path, extremes[p]);
    else write_part<float>(step, parts[p], elements, at, files, path, extremes[p]);
    at += total * static_cast<int64_t>(parts[p].size()) * points_of(fields_.mesh()) * value;
  }
  for (size_t p = 0; p < parts.size() && fields_.mesh().axes == 3; ++p) {
    const auto width = static_cast<int64_t>(2 * parts[p].size());
    for_each_run(elements, [&](size_t first, size_t end) {
      const auto run = std::span(extremes[p])
                           .subspan(first * static_cast<size_t>(width),
                                    (end - first) * static_cast<size_t>(width));
      files.write(path, std::as_bytes(run), at + 4 * width * elements[first].place);
    });
    at += 4 * width * total;
  }
  if (durable_) files.sync();
  bytes += files.bytes();
}

template <class To>
void WriteNek::write_part(const stage::Step& step, const Part& part,
                          const std::vector<Element>& elements, int64_t at, OpenFiles& files,
                          const fs::path& path, std::vector<float>& extremes) const {
  const auto points = static_cast<size_t>(points_of(fields_.mesh()));
  const size_t size = part.size() * points;
  std::vector<To> run;
  for_each_run(elements, [&](size_t first, size_t end) {
    run.clear();
    for (size_t e = first; e < end; ++e) {
      const auto block = step.block(input_, elements[e].block);
      for (const auto& [field, component] : part) {
        const auto array = unfolded(block[field], fields_.mesh());
        const size_t begin = run.size();
        array.visit([&](const auto* data) {
          const auto* from =
              data + elements[e].index * array.strides[1] + component * array.strides[3];
          for (size_t p = 0; p < points; ++p)
            run.push_back(static_cast<To>(from[static_cast<int64_t>(p) * array.strides[0]]));
        });
        const auto [least, largest] =
            std::minmax_element(run.begin() + static_cast<std::ptrdiff_t>(begin), run.end());
        extremes.push_back(static_cast<float>(*least));
        extremes.push_back(static_cast<float>(*largest));
      }
    }
    const int64_t offset = elements[first].place * static_cast<int64_t>(size * sizeof(To));
    files.write(path, std::as_bytes(std::span(run)), at + offset);
  });
}

void WriteNek::write_list(const stage::Step& step) const {
  step.write_text(name_ + ".nek5000", "Field files of " + name_, nullptr,
                  list_text(name_, steps_.steps().size()), durable_);
}

void WriteNek::save(stage::State& state) const {
  steps_.save(state);
  costs_.save(state);
}

// Coordinates are written again in the first file.
void WriteNek::restore(stage::State& state) {
  steps_.restore(state);
  costs_.restore(state);
}

namespace {

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields of reals at the points of one spectral mesh, without its coordinates"},
    {"name", "name", "null", "Of the dataset; that of the mesh if left out"},
    {"precision", "auto | single | double", "auto",
     "Of values in files; auto: double if a field is"},
    {"coordinates", "changed | each | none", "changed",
     "Which files have them; changed: the first one, and others after they have changed"},
    {"numbers", "field | auto | none", "auto",
     "Integer field with the number of each element; auto: `number`, if it is there"},
    {"at_once", "integer", "0", "How many ranks write at the same time; 0: all"},
    {"durable", "true | false", "true", "A file gets its name only when it is on disk"},
};

}  // namespace

}  // namespace pillion::stages::write_nek

PILLION_STAGE(pillion::stages::write_nek::WriteNek, "write_nek",
              "Fields on spectral elements as field files of Nek5000, one for each step",
              pillion::stages::write_nek::parameters)
