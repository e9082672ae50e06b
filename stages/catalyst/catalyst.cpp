// SPDX-License-Identifier: BSD-3-Clause
// The stage `catalyst`: a ParaView script of the user's own, run on live data. ParaView runs in a
// process of its own beside the first peer, so that it cannot harm the simulation. Or else, in
// sidecars of a separate job, it runs in all peers, and each gives it its own blocks.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/messages.hpp"
#include "../common/options.hpp"
#include "content.hpp"
#include "embedded.hpp"
#include "process.hpp"

namespace pillion::stages::catalyst {
namespace {

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

std::string text_of(const void* address) {
  return std::to_string(reinterpret_cast<uintptr_t>(address));
}

class Catalyst final : public stage::Stage {
 public:
  explicit Catalyst(stage::Setup& setup)
      : python_{setup["python"].text()},
        channel_(setup["channel"].text()),
        script_(setup["script"].file()),
        timeout_(setup["timeout"].real()),
        is_parallel_(setup["parallel"].boolean()),
        content_(setup) {
    if (!(timeout_ > 0)) setup["timeout"].fail("expected seconds above 0");
    if (is_parallel_) setup.require_separate_job(setup["parallel"]);
    expect_paraview(setup["python"]);
    if (is_parallel_) python_ = ask_python(python_.program, setup["python"]);
    input_ = setup.input(content_.input(is_parallel_));
    // Packed, and on their way to a peer or in VTK's arrays.
    setup.memory(2 * content_.doubles() / bytes_of(setup, content_.names()));
  }
  // ParaView gives its communicators back while there is MPI.
  ~Catalyst() override {
    if (!is_started_) return;
    try {
      const TimeLimit limit(timeout_, too_long());
      call_python(python_, "forget", "{\"pipeline\": " + text_of(this) + "}");
    } catch (const std::exception&) {  // the process ends, and nothing depends on ParaView any more
    }
  }

  void run(stage::Step& step) override {
    if (is_parallel_) run_in_peers(step);
    else run_at_first(step);
  }
  void finish(stage::Step& step) override {
    process_.reset();
    if (!is_started_) return;
    const WorkingFolder folder(step.product_folder());
    const TimeLimit limit(timeout_, too_long());
    expect_well(call_python(python_, "finalize", "{\"pipeline\": " + text_of(this) + "}"));
  }

 private:
  void expect_paraview(const stage::Value& place) {
    const char* display = std::getenv("DISPLAY");
    needs_display_ = display == nullptr || *display == 0;
    const std::string& program = python_.program;
    const bool has_python = catalyst::is_on_path(program);
    if (!has_python ||
        catalyst::status_of({program, "-c",
                             "import importlib.util as u; "
                             "raise SystemExit(u.find_spec('paraview') is None)"}) != 0)
      place.fail(
          "ParaView is not there: " + program +
          (has_python ? " has no module paraview" : " cannot be run") +
          "; install the packages paraview and python3-paraview, or name a Python that has " +
          "it with `python`");
    if (needs_display_ && !catalyst::is_on_path("Xvfb"))
      place.fail("there is no display for ParaView to draw on: install the package xvfb " +
                 std::string("(program Xvfb), or set DISPLAY"));
  }

  // All values go to the first peer, and from there to a process of its own.

  void run_at_first(const stage::Step& step) {
    const auto values = stages::gather_values(step, content_.packed(step, input_));
    if (step.peer() == 0) {
      if (!process_) start_process(step);
      const Values file(values);
      process_->send(content_.message(step, true, ", \"file\": " + json_text(file.path())));
      expect_well(process_->answer(timeout_));
    }
    step.agree();
  }
  void start_process(const stage::Step& step) {
    const std::string program = package_text() + "package.worker.main()\n";
    std::vector<std::string> words = {python_.program, "-c",    program, "{in}",
                                      "{out}",         script_, channel_};
    if (needs_display_) words.emplace_back("Xvfb");
    process_ = std::make_unique<Process>(std::move(words), step.product_folder());
    expect_well(process_->answer(timeout_));
  }

  // Every peer is a rank of ParaView, with its own values. All have to come to each call of
  // ParaView, so they agree before it; what a peer meets within, others may wait for.

  void run_in_peers(const stage::Step& step) {
    const auto values = content_.packed(step, input_);
    const WorkingFolder folder(step.product_folder());
    if (!is_prepared_) prepare();
    step.agree();
    const TimeLimit limit(timeout_, too_long());
    if (!is_started_) start(step);
    step.agree();
    const std::string entries = own_pipeline() + ", \"address\": " + text_of(values.data()) +
                                ", \"count\": " + std::to_string(values.size());
    expect_well(call_python(python_, "execute", content_.message(step, false, entries)));
    step.agree();
    expect_well(call_python(
        python_, "compare",
        "{\"peer\": " + std::to_string(step.peer()) + ", \"script\": " + json_text(script_) + "}"));
  }
  void prepare() {
    is_prepared_ = true;
    expect_well(call_python(python_, "prepare",
                            "{\"path\": " + python_.path + ", \"prefix\": " + python_.prefix +
                                ", \"mpi\": " + python_.mpi +
                                ", \"display\": " + json_text(needs_display_ ? "Xvfb" : "") + "}"));
  }
  void start(const stage::Step& step) {
    expect_well(call_python(python_, "start",
                            "{\"communicator\": " + std::to_string(step.communicator()) +
                                own_pipeline() + ", \"script\": " + json_text(script_) +
                                ", \"channel\": " + json_text(channel_) + "}"));
    is_started_ = true;
  }
  [[nodiscard]] std::string own_pipeline() const { return ", \"pipeline\": " + text_of(this); }
  [[nodiscard]] std::string too_long() const {
    return "pillion: stage 'catalyst': the script " + script_ + " did not end within " +
           std::to_string(static_cast<int64_t>(timeout_)) +
           " s, so this job of sidecars is ended; `timeout` may be longer";
  }

  void expect_well(const std::string& answer) const {
    if (answer.empty() || answer == "\"\"") return;
    throw Error(ErrorCode::Stage, "the script " + script_ + " failed: " + answer);
  }

  Python python_;
  std::string channel_, script_;
  double timeout_;
  bool is_parallel_, needs_display_ = true;
  bool is_prepared_ = false, is_started_ = false;
  Content content_;
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
    {"parallel", "true | false", "false",
     "ParaView runs in all peers, which must be sidecars with `job: separate`, and none gets the "
     "values of another"},
    {"python", "program", "/usr/bin/python3", "A Python that has the module paraview"},
    {"timeout", "seconds", "600", "A script that takes longer for a step is ended"},
};

}  // namespace
}  // namespace pillion::stages::catalyst

PILLION_STAGE(pillion::stages::catalyst::Catalyst, "catalyst",
              "A ParaView script of your own on live data", pillion::stages::catalyst::parameters)
