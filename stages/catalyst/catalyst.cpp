// SPDX-License-Identifier: BSD-3-Clause
// The stage `catalyst`: a ParaView script of the user's own, run on live data. ParaView runs in a
// process of its own beside the first peer, so that it cannot harm the simulation.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/messages.hpp"
#include "../common/options.hpp"
#include "process.hpp"

// worker.py, as text.
asm(".section .rodata\n"
    "pillion_catalyst_worker:\n.incbin \"" PILLION_CATALYST_WORKER
    "\"\n.byte 0\n"
    ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const char pillion_catalyst_worker[];

namespace pillion::stages::catalyst {
namespace {

struct Field {
  std::string name;
  pillion_field_description description{};
};

/// As a text of JSON.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}
std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
template <class F>
std::string listed(int count, F&& entry) {
  std::string out = "[";
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + entry(i);
  return out + "]";
}

/// Doubles in a file in memory that has no name, so that nothing is left of it however this process
/// ends. Others of the same user open it by its path among this process's descriptors.
class Values {
 public:
  explicit Values(const std::vector<double>& values)
      : file_(::memfd_create("pillion-catalyst", MFD_CLOEXEC)) {
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    const size_t size = values.size() * sizeof(double);
    size_t at = 0;
    for (ssize_t n = 0; file_ >= 0 && at < size && (n = ::write(file_, bytes + at, size - at)) > 0;)
      at += static_cast<size_t>(n);
    if (file_ >= 0 && at == size) return;
    if (file_ >= 0) ::close(file_);
    throw Error(ErrorCode::File, "there is no memory for " + std::to_string(size) +
                                     " bytes that are handed to ParaView");
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() { ::close(file_); }
  [[nodiscard]] std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
  }

 private:
  int file_;
};

class Catalyst final : public stage::Stage {
 public:
  explicit Catalyst(stage::Setup& setup)
      : python_(setup["python"].text()),
        channel_(setup["channel"].text()),
        script_(setup["script"].file()),
        timeout_(setup["timeout"].real()) {
    if (!(timeout_ > 0)) setup["timeout"].fail("expected seconds above 0");
    read_fields(setup);
    expect_paraview(setup["python"]);
    std::vector<std::string> names;
    for (const auto& field : fields_) names.push_back(field.name);
    input_ = setup.input(kind_ == PILLION_UNIFORM ? stage::Input::blocks(names)
                                                  : stage::Input::as_shared(names));
    double doubles = 0;
    for (const auto& field : fields_) doubles += 8 * field.description.components;
    setup.memory(2 * doubles / bytes_of(setup, names));  // packed, and on their way to a peer
  }

  void run(stage::Step& step) override {
    const auto values = stages::gather_values(step, packed(step));
    if (step.peer() == 0) {
      if (!process_) start(step);
      const Values file(values);
      process_->send(message(step, file.path()));
      expect_well(process_->answer(timeout_));
    }
    step.agree();
  }
  void finish(stage::Step&) override { process_.reset(); }

 private:
  void read_fields(const stage::Setup& setup) {
    const auto names = setup["fields"];
    for (const auto& name : names.texts()) add(setup, name, names);
    if (fields_.empty()) names.fail("at least one field is needed");
    kind_ = fields_[0].description.mesh_kind;
    stages::expect_equal_cells(fields_[0].description, names, "an image of VTK");
    mesh_ = fields_[0].description.mesh;
    if (kind_ == PILLION_SPECTRAL) coordinates_ = fields_[0].description.coordinates;
    const auto position = setup["position"];
    if (kind_ == PILLION_PARTICLES && !position)
      names.fail("these are fields of particles: set `position: FIELD`");
    if (kind_ != PILLION_PARTICLES && position)
      position.fail("`position` is for particles; field '" + fields_[0].name + "' is of none");
    if (position) coordinates_ = position.text();
    if (!coordinates_.empty()) add(setup, coordinates_, position ? position : names);
    for (const auto& field : fields_)
      if (field.description.mesh != mesh_)
        names.fail("fields of one mesh are needed; '" + field.name + "' is on '" +
                   field.description.mesh + "', and '" + fields_[0].name + "' on '" + mesh_ + "'");
    if (position && fields_.back().description.components != 3)
      position.fail("field '" + coordinates_ + "' has not three components");
  }
  void add(const stage::Setup& setup, const std::string& name, const stage::Value& place) {
    for (const auto& field : fields_)
      if (field.name == name) return;
    fields_.push_back({name, setup.field(name, place)});
  }

  void expect_paraview(const stage::Value& place) {
    const char* display = std::getenv("DISPLAY");
    needs_display_ = display == nullptr || *display == 0;
    const bool has_python = catalyst::is_on_path(python_);
    if (!has_python ||
        catalyst::status_of({python_, "-c",
                             "import importlib.util as u; "
                             "raise SystemExit(u.find_spec('paraview') is None)"}) != 0)
      place.fail(
          "ParaView is not there: " + python_ +
          (has_python ? " has no module paraview" : " cannot be run") +
          "; install the packages paraview and python3-paraview, or name a Python that has " +
          "it with `python`");
    if (needs_display_ && !catalyst::is_on_path("Xvfb"))
      place.fail("there is no display for ParaView to draw on: install the package xvfb " +
                 std::string("(program Xvfb), or set DISPLAY"));
  }

  void start(const stage::Step& step) {
    std::vector<std::string> words = {python_, "-c",    pillion_catalyst_worker, "{in}", "{out}",
                                      script_, channel_};
    if (needs_display_) words.emplace_back("Xvfb");
    process_ = std::make_unique<Process>(std::move(words), step.product_folder());
    expect_well(process_->answer(timeout_));
  }
  void expect_well(const std::string& answer) const {
    if (answer == "\"\"") return;
    throw Error(ErrorCode::Stage, "the script " + script_ + " failed: " + answer);
  }

  /// What this peer has, block by block: the box or the count, then the values of each field.
  [[nodiscard]] std::vector<double> packed(const stage::Step& step) const {
    std::vector<double> out;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      if (kind_ == PILLION_UNIFORM) pack_box(block, out);
      else pack_items(block, out);
    }
    return out;
  }
  void pack_box(const stage::Block& block, std::vector<double>& out) const {
    const auto size = stages::extent_of(block, fields_[0].description);
    const int32_t axes = fields_[0].description.axes;
    for (int d = 0; d < 3; ++d) out.push_back(d < axes ? static_cast<double>(block.lo()[d]) : 0);
    for (int d = 0; d < 3; ++d) out.push_back(d < axes ? static_cast<double>(block.hi()[d]) : 1);
    const auto cells = static_cast<size_t>(stages::size_of(size));
    std::vector<double> component(cells);
    for (size_t f = 0; f < fields_.size(); ++f) {
      const auto array = block[static_cast<int32_t>(f)];
      const auto count = static_cast<size_t>(array.components);
      const size_t at = out.size();
      out.resize(at + cells * count);
      for (size_t c = 0; c < count; ++c) {
        stages::read_values({&array, static_cast<int32_t>(c)}, size, 0, component);
        for (size_t i = 0; i < cells; ++i) out[at + i * count + c] = component[i];
      }
    }
  }
  void pack_items(const stage::Block& block, std::vector<double>& out) const {
    out.push_back(static_cast<double>(block.owned()));
    for (size_t f = 0; f < fields_.size(); ++f) {
      const auto array = block[static_cast<int32_t>(f)];
      array.visit([&](const auto* data) {
        for (int64_t i = 0; i < block.owned(); ++i)
          for (int32_t c = 0; c < array.components; ++c)
            out.push_back(static_cast<double>(data[i * array.strides[0] + c * array.strides[3]]));
      });
    }
  }

  [[nodiscard]] std::string message(const stage::Step& step, const std::string& file) const {
    const char* kinds[] = {"", "uniform", "particles", "spectral"};
    std::string out =
        "{\"kind\": " + quoted(kinds[kind_]) + ", \"file\": " + quoted(file) +
        ", \"step\": " + std::to_string(step.index()) + ", \"time\": " + exact(step.time()) +
        ", \"position\": " + quoted(coordinates_) + ", \"coordinates\": " + quoted(coordinates_);
    if (kind_ == PILLION_UNIFORM) out += geometry(step.coarsening(mesh_));
    out += ", \"order\": " + std::to_string(fields_[0].description.order) +
           ", \"dimensions\": " + std::to_string(fields_[0].description.axes) + ", \"fields\": " +
           listed(static_cast<int>(fields_.size()), [&](int f) { return described(f); });
    return out + "}";
  }
  [[nodiscard]] std::string geometry(int64_t factor) const {
    const auto& mesh = fields_[0].description;
    const auto width = [&](int d) {
      return d < mesh.axes ? mesh.length[d] / static_cast<double>(mesh.cells[d]) : 1.0;
    };
    return ", \"cells\": " +
           listed(
               3,
               [&](int d) {
                 return std::to_string(d < mesh.axes ? (mesh.cells[d] + factor - 1) / factor : 1);
               }) +
           ", \"origin\": " +
           listed(3, [&](int d) { return exact(d < mesh.axes ? mesh.origin[d] : 0); }) +
           ", \"spacing\": " + listed(3, [&](int d) {
             return exact(width(d) * (d < mesh.axes ? static_cast<double>(factor) : 1));
           });
  }
  [[nodiscard]] std::string described(int f) const {
    const Field& field = fields_[static_cast<size_t>(f)];
    const auto points = stages::points_of(field.description);
    return "{\"name\": " + quoted(field.name) +
           ", \"components\": " + std::to_string(field.description.components) +
           ", \"values\": " + std::to_string(field.description.components * points) +
           ", \"at_points\": " + (points > 1 ? "true" : "false") + "}";
  }

  std::string python_, channel_, script_, mesh_, coordinates_;
  double timeout_;
  bool needs_display_ = true;
  pillion_mesh_kind kind_ = PILLION_UNIFORM;
  std::vector<Field> fields_;
  int32_t input_ = 0;
  std::unique_ptr<Process> process_;
};

const pillion_parameter parameters[] = {
    {"script", "file", nullptr,
     "A Catalyst script as ParaView saves it; looked for from the working folder, then from the "
     "folder of the configuration"},
    {"fields", "list of fields", nullptr, "What the script is given, of one mesh"},
    {"position", "field", "null", "Of particles: where they are"},
    {"channel", "text", "input", "What the script calls the data (registrationName)"},
    {"python", "program", "/usr/bin/python3", "A Python that has the module paraview"},
    {"timeout", "seconds", "600", "A script that takes longer for a step is ended"},
};

}  // namespace
}  // namespace pillion::stages::catalyst

PILLION_STAGE(pillion::stages::catalyst::Catalyst, "catalyst",
              "A ParaView script of your own on live data", pillion::stages::catalyst::parameters)
