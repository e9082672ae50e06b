// SPDX-License-Identifier: BSD-3-Clause
// Attaches sidecars to an active run:
//   pillion-attach                        lists the runs of this node
//   pillion-attach RUN                    works as the run's own sidecar (`job: separate`)
//   pillion-attach RUN extra.yaml         adds the analyses in extra.yaml to the run
//   mpirun -n 4 pillion-attach RUN ...    the same with several ranks, one or more per node
// SIGINT makes it finish the current publication and leave in good order. So does SIGTERM, unless
// the simulation ends at the same time: then it finishes everything that was published.
#include <mpi.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/default_environment.hpp"
#include "base/process.hpp"
#include "node/segment.hpp"
#include "run/attached_job.hpp"
#include "run/attachment.hpp"
#include "sidecar/sidecar_job.hpp"

namespace {

using pillion::base::Level;
using pillion::policy::SidecarEnding;

constexpr const char* usage =
    "usage: pillion-attach [RUN [ANALYSES.yaml]] [--name NAME] [--set NAME=VALUE]...\n"
    "                      [--wait SECONDS] [--quiet]\n"
    "  RUN       name or id of a run on this node; without it the runs are listed\n"
    "  ANALYSES  a YAML file with `analyses:` to add to the run\n"
    "  --name    of these analyses, for their report; default: the file's name\n"
    "  --set     value of a parameter $NAME of the file\n"
    "  --wait    how long to wait for the run to be there; default 10\n";

struct Arguments {
  std::vector<std::string> words;
  pillion::base::Parameters parameters;
  std::string name;
  double patience = 10;
  bool quiet = false;
  bool help = false;
  bool answer = false;
  bool wrong = false;
};

void read_parameter(const std::string& text, Arguments& out) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) out.wrong = true;
  else out.parameters[text.substr(0, equals)] = text.substr(equals + 1);
}

Arguments read_arguments(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--answer") out.answer = true;
    else if (word == "--help" || word == "-h") out.help = true;
    else if (word == "--quiet") out.quiet = true;
    else if (word == "--name" && has_value) out.name = argv[++i];
    else if (word == "--wait" && has_value) out.patience = std::atof(argv[++i]);
    else if (word == "--set" && has_value) read_parameter(argv[++i], out);
    else if (word.starts_with("--")) out.wrong = true;
    else out.words.push_back(word);
  }
  out.wrong = out.wrong || out.words.size() > 2;
  return out;
}

// When SIGTERM came first; launchers send it more than once at a time.
std::atomic<std::time_t> asked_at{0};
std::atomic<bool> leaves_at_once{false};
static_assert(std::atomic<std::time_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

void leave(int number) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr std::time_t again = 2;  // seconds
  const std::time_t first = asked_at;
  if (first == 0) asked_at = now.tv_sec + 1;
  if (number == SIGINT || (first != 0 && now.tv_sec + 1 - first >= again)) leaves_at_once = true;
}

/// Where another process of the job has died, this one may wait for it in MPI.
[[noreturn]] void end_after_loss() {
  std::fputs("pillion-attach: another process of this job has died, so this one ends\n", stderr);
  std::_Exit(1);
}

int list_runs() {
  const auto runs = pillion::run::describe_runs(pillion::node::find_runs());
  const std::string none = "no run is active on node " + pillion::base::host_name() + "\n";
  std::fputs(runs.empty() ? none.c_str() : runs.c_str(), stdout);
  return 0;
}

/// How a rank has come to its end.
struct Outcome {
  int status = 0;
  bool is_elsewhere = false;  ///< nothing to do; others work as long as the run lasts
};

/// Whether all ranks get here. One that fails by itself, for lack of memory for example, leaves the
/// others waiting for it in the middle of something.
bool all_are_here(const Outcome& outcome) {
  constexpr double for_ever = std::numeric_limits<double>::infinity();
  const double patience = outcome.is_elsewhere ? for_ever : outcome.status == 1 ? 2 : 60;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int here = 0;
  // Nothing is held while it waits: a rank that does not come has failed, and `patience` ends the
  // wait.
  return pillion::base::wait_until(
      [&] {
        MPI_Test(&request, &here, MPI_STATUS_IGNORE);
        return here != 0;
      },
      pillion::base::monotonic_seconds() + patience);
}

Outcome attach(const Arguments& arguments) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool is_first = rank == 0;
  std::signal(SIGTERM, leave);
  std::signal(SIGINT, leave);
  std::signal(SIGUSR1, SIG_IGN);  // a batch system's notice is for the simulation
  const pillion::base::DefaultEnvironment environment;
  try {
    pillion::sidecar::SidecarJob job(
        {.run = arguments.words[0],
         .analyses = arguments.words.size() > 1 ? arguments.words[1] : "",
         .parameters = arguments.parameters,
         .name = arguments.name,
         .patience = arguments.patience,
         .log = pillion::base::Log([&](Level level, const std::string& message) {
           if (level >= Level::Warning || (level == Level::Info && is_first && !arguments.quiet))
             std::fprintf(stderr, "pillion-attach: %s\n", message.c_str());
         }),
         .leave = [] { return asked_at != 0; },
         .leave_at_once = [] { return leaves_at_once.load(); },
         .expelled = end_after_loss},
        MPI_COMM_WORLD);
    is_first = job.is_first();
    if (job.is_elsewhere()) return {.status = 0, .is_elsewhere = true};
    const SidecarEnding ending = job.work();
    constexpr const char* endings[] = {"the run has ended", "left the run",
                                       "the simulation is gone; what it had published is finished",
                                       "left the run, whose memory it had held for too long",
                                       "the run has no stages for sidecars"};
    if (is_first && !arguments.quiet)
      std::fprintf(stderr, "pillion-attach: %s\n", endings[static_cast<int>(ending)]);
    if (ending == SidecarEnding::Evicted) return {.status = 4};
    return {.status = ending == SidecarEnding::SimulationGone ? 3 : 0};
  } catch (const std::exception& e) {
    if (is_first) std::fprintf(stderr, "pillion-attach: %s\n", e.what());
    return {.status = 1};
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  if (arguments.help || arguments.wrong) {
    std::fputs(usage, arguments.wrong ? stderr : stdout);
    return arguments.wrong ? 2 : 0;
  }
  try {
    if (arguments.answer) return pillion::run::answer_cut_fields(0, 1), 0;
    if (arguments.words.empty()) return list_runs();
    // A file that is not YAML is refused by each rank before it starts MPI: with Open MPI 4.1.4 a
    // program without a launcher that finalizes MPI at once after the start may crash there.
    if (arguments.words.size() > 1)
      pillion::sidecar::expect_yaml(arguments.words[1], arguments.parameters);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pillion-attach: %s\n", e.what());
    return 1;
  }
  MPI_Init(&argc, &argv);
  const Outcome outcome = attach(arguments);
  if (!all_are_here(outcome)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return outcome.status;
}
