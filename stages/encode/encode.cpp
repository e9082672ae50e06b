// SPDX-License-Identifier: BSD-3-Clause
// The stage `encode`: fields in a lossless code, in one file for each step: the coefficients that
// `truncate` has left of fields on spectral elements, or, of uniform meshes, streams of zfp or SZ3.
// A table reports sizes and errors.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/rows.hpp"
#include "coded_fields.hpp"

namespace pillion::stages::encode {
namespace {

/// A parameter of fields on the other kind of mesh.
struct Foreign {
  const char* name;
  const char* standard;
};

void refuse(const stage::Setup& setup, const char* mesh_kind,
            std::initializer_list<Foreign> parameters) {
  for (const auto& [name, standard] : parameters) {
    const auto value = setup[name];
    if ((value ? written(value) : "null") != standard)
      value.fail(std::string("parameter '") + name + "' means nothing to fields of " + mesh_kind);
  }
}

std::unique_ptr<CodedFields> fields_of(const stage::Setup& setup) {
  const auto list = setup["fields"];
  if (!list.is_list() || list.size() == 0) list.fail("no fields are listed");
  auto names = list.texts();
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    list.fail("field '" + *twice + "' is listed twice");
  const auto first = setup.field(list[0].text(), list);
  expect_equal_cells(first, list, "the compressed format");
  if (first.mesh_kind == PILLION_UNIFORM) {
    refuse(setup, "a uniform mesh",
           {{"numbers", "auto"},
            {"level", "auto"},
            {"coordinates", "once"},
            {"periods", "null"},
            {"continuous", "false"}});
    return std::make_unique<UniformFields>(setup);
  }
  if (first.mesh_kind != PILLION_SPECTRAL)
    list.fail("field '" + list[0].text() + "' is on neither a spectral nor a uniform mesh");
  refuse(setup, "a spectral mesh, whose errors the stage truncate bounds",
         {{"error", "null"}, {"relative_to", "none"}, {"norm", "max"}});
  return std::make_unique<ElementFields>(setup);
}

class Encode final : public stage::Stage {
 public:
  explicit Encode(stage::Setup& setup)
      : fields_(fields_of(setup)),
        name_(dataset_name(setup, fields_->mesh())),
        durable_(setup["durable"].boolean()) {
    setup.product(name_ + "_compressed");
    setup.product("encode_" + name_ + ".csv");
    setup.survives_failures();
  }

  void run(stage::Step& step) override {
    const auto begin = std::chrono::steady_clock::now();
    const auto names = fields_->names();
    std::vector<Figures> figures(names.size());
    auto arrays = fields_->arrays(step, figures);
    combine(step, figures);
    for (size_t f = 0; f < names.size(); ++f) describe(arrays[f], figures[f]);
    auto attributes = attributes_of(step);
    if (const auto mesh = write_mesh(step); !mesh.empty())
      attributes.push_back({"mesh_file", mesh});
    (void)write_compressed(step, arrays, attributes, path_of(step, number_of(step)), durable_);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    step.max(std::span(&seconds, 1));
    note(step, figures, seconds);
    if (step.products_due()) write_table(step);
  }
  void finish(stage::Step& step) override { write_table(step); }

  void save(stage::State& state) const override {
    const auto names = joined_names();
    state.save("fields", std::vector<char>(names.begin(), names.end()));
    state.save("elements", fields_->saved());
    rows_.save(state);
  }
  void restore(stage::State& state) override {
    const auto saved = state.load<char>("fields");
    const std::string before(saved.begin(), saved.end());
    if (before != joined_names())
      throw Error(ErrorCode::Configuration,
                  "the fields that were compressed before the restart are others, " + before +
                      ", not " + joined_names() +
                      "; use those, or give the analysis another name to start again");
    fields_->restore(state.load<int64_t>("elements"));
    rows_.restore(state);
  }

 private:
  [[nodiscard]] std::string joined_names() const {
    std::string out;
    for (const auto& name : fields_->names()) out += (out.empty() ? "" : ", ") + name;
    return out;
  }
  static std::string number_of(const stage::Step& step) {
    char number[32];
    std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(step.index()));
    return number;
  }
  [[nodiscard]] std::filesystem::path path_of(const stage::Step& step,
                                              const std::string& which) const {
    return std::filesystem::path(step.product_folder()) / (name_ + "_compressed") /
           (name_ + "." + which + ".h5");
  }

  [[nodiscard]] std::vector<Attribute> attributes_of(const stage::Step& step) const {
    std::vector<Attribute> out{
        {"pillion_compressed", int64_t{1}},
        {"step", step.index()},
        {"time", step.time()},
        {"time_units", step.units("time")},
        {"mesh", fields_->mesh()},
        {"length_units", step.units(fields_->mesh())},
        {"coarsening", int64_t{step.coarsening(fields_->mesh())}},
        {"origin", step.origin(name_, "Compressed fields")},
    };
    const auto of_fields = fields_->attributes(step);
    out.insert(out.end(), of_fields.begin(), of_fields.end());
    return out;
  }

  static void describe(StoredArray& array, const Figures& f) {
    const auto add = [&](const char* name, auto value) {
      array.attributes.push_back({name, value});
    };
    add("bound", f.bound);
    add("error", f.error());
    add("norm", std::string(f.is_largest ? "max" : "rms"));
    add("raw_bytes", f.bytes_in);
    add("kept", f.kept);
    add("untouched", f.untouched);
  }

  /// What belongs to all steps is written at the first; returns the name of its file.
  std::string write_mesh(const stage::Step& step) {
    const auto arrays = fields_->once(step);
    if (arrays.empty()) return {};
    const auto path = path_of(step, "mesh");
    if (!has_mesh_) (void)write_compressed(step, arrays, attributes_of(step), path, durable_);
    has_mesh_ = true;
    return path.filename().string();
  }

  void note(const stage::Step& step, const std::vector<Figures>& figures, double seconds) {
    const auto names = fields_->names();
    const auto add = [&](const char* title, auto&& units, auto&& number_of) {
      for (size_t f = 0; f < names.size(); ++f)
        rows_.add(title + names[f], units(names[f]), static_cast<double>(number_of(figures[f])));
    };
    const auto none = [](const std::string&) { return std::string(); };
    const auto bytes = [](const std::string&) { return std::string("B"); };
    const auto own = [&](const std::string& name) { return step.units(name); };
    rows_.add("step", "", step.index());
    rows_.add("time", step.units("time"), step.time());
    add("ratio_", none, [](const Figures& f) {
      return static_cast<double>(f.bytes_in) / std::max(static_cast<double>(f.bytes_out), 1.0);
    });
    add("bytes_in_", bytes, [](const Figures& f) { return f.bytes_in; });
    add("bytes_out_", bytes, [](const Figures& f) { return f.bytes_out; });
    add("bound_", own, [](const Figures& f) { return f.bound; });
    add("error_", own, [](const Figures& f) { return f.error(); });
    add("kept_", none, [](const Figures& f) {
      return static_cast<double>(f.kept) / static_cast<double>(std::max<int64_t>(f.values, 1));
    });
    add("untouched_", none, [](const Figures& f) { return f.untouched; });
    rows_.add("seconds", "s", seconds);
    rows_.end_row();
  }

  void write_table(const stage::Step& step) const {
    if (rows_.empty()) return;
    stage::Table table("encode_" + name_, "Compression of fields of " + fields_->mesh());
    rows_.put_into(table);
    step.write(table);
  }

  std::unique_ptr<CodedFields> fields_;
  std::string name_;
  bool durable_, has_mesh_ = false;
  Rows rows_;
};

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr,
     "Fields of reals of one mesh: at the points of spectral elements, whose coefficients are "
     "stored if truncate comes before, or of a uniform mesh"},
    {"name", "name", "null", "Of the files; that of the mesh if left out"},
    {"codec", "auto | zstd | xz | bzip2 | zip | lz4 | none | zfp | sz3", "auto",
     "The lossless code of spectral elements; auto: the first that the build has. Of uniform "
     "meshes zfp, which is auto there, or sz3, a plug-in of HDF5"},
    {"level", "integer | auto", "auto", "How hard it tries"},
    {"numbers", "auto | none | field", "auto",
     "An integer that identifies each element, so that a reader has them in order; auto: "
     "the field called number, if there is one"},
    {"coordinates", "once | each | none", "once",
     "Whether those of the mesh are stored in a file of their own, with each step, or not at all"},
    {"periods", "[x, y, z]", "null",
     "Lengths after which a spectral mesh repeats, 0 where it does not; for the decoder's average"},
    {"continuous", "true | false | list of fields", "false",
     "Fields of spectral elements that have one value where elements meet: the decoder averages "
     "them there. The bound holds for the average only if this is true"},
    {"error", "number", "null", "Of uniform meshes: bound on the error; 0: nothing is lost"},
    {"relative_to", "none | range | rms", "none", "What that is a part of"},
    {"norm", "rms | max", "max",
     "Of uniform meshes: which error is bounded; that of any cell or, in "
     "each box of a rank, the root mean square"},
    {"durable", "true | false", "true", "A step is done only when it is on disk"},
};

}  // namespace
}  // namespace pillion::stages::encode

PILLION_STAGE(pillion::stages::encode::Encode, "encode",
              "Fields compressed on disk, with a bound on the error",
              pillion::stages::encode::parameters)
