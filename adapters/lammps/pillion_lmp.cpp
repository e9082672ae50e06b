// SPDX-License-Identifier: BSD-3-Clause
// pillion-lmp: LAMMPS with a session of Pillion. Opens a session over all ranks, lets sidecar ranks
// work, and runs the stock LAMMPS library on the simulation's communicator with `fix pillion`
// added. With no -pillion it is LAMMPS and nothing else.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "fix_pillion.hpp"
#include "options.hpp"

namespace {

using namespace pillion::lammps;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// For problems that occur on every rank.
int fail(const std::exception& problem) {
  if (rank_in(MPI_COMM_WORLD) == 0) std::fprintf(stderr, "pillion-lmp: %s\n", problem.what());
  return EXIT_FAILURE;
}

void add_fix(const LAMMPS_NS::LAMMPS& lammps) {
  (*lammps.modify->fix_map)["pillion"] = &create_fix;
}

void run_lammps(const CommandLine& line, MPI_Comm comm) {
  std::vector<char*> argv;
  // LAMMPS does not write to its arguments.
  for (const auto& word : line.lammps) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  LAMMPS_NS::LAMMPS lammps(static_cast<int>(argv.size()) - 1, argv.data(), comm);
  add_fix(lammps);
  lammps.input->file();
}

/// LAMMPS has done its work, so a failure here is a warning.
void close(Ride& ride, int rank) {
  if (rank == 0 && !FixPillion::has_stepped())
    std::fprintf(
        stderr,
        "pillion-lmp: WARNING: nothing was analysed: the input has no `fix pillion` before "
        "a `run`, or the run is shorter than the fix's `every`\n");
  try {
    ride.close();
    if (rank == 0) std::printf("Pillion report: %s\n", ride.report().c_str());
  } catch (const std::exception& problem) {
    if (rank == 0) std::fprintf(stderr, "pillion-lmp: WARNING: %s\n", problem.what());
  }
}

/// The ranks of a session with its sidecars: those of one partition. Tells its number to the
/// session.
MPI_Comm ranks_of_session(CommandLine& line) {
  if (line.partitions.empty()) return MPI_COMM_WORLD;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int partition = partition_of(rank, ranks, line.partitions);
  line.ride.settings.emplace_back("partition", std::to_string(partition));
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, partition, rank, &comm);
  return comm;
}

/// NULL on all ranks of the job if some partition could not open its session.
std::unique_ptr<Ride> open(const RideOptions& options, MPI_Comm comm) {
  std::unique_ptr<Ride> ride;
  try {
    ride = std::make_unique<Ride>(options, comm);
  } catch (const Reported&) {
  } catch (const std::exception& problem) {
    if (rank_in(comm) == 0) std::fprintf(stderr, "pillion-lmp: %s\n", problem.what());
  }
  int are_open = ride != nullptr ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &are_open, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (are_open != 0) return ride;
  // Sidecars learn from their simulation that it has ended.
  if (ride != nullptr && ride->communicator() == MPI_COMM_NULL) static_cast<void>(ride->serve());
  return nullptr;
}

/// The ranks of all sessions without their sidecars.
MPI_Comm ranks_of_lammps(const CommandLine& line, const Ride& ride) {
  if (line.partitions.empty()) return ride.communicator();
  const bool is_sidecar = ride.communicator() == MPI_COMM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_sidecar ? MPI_UNDEFINED : 0, rank_in(MPI_COMM_WORLD), &comm);
  return comm;
}

int ride_along(CommandLine line) {
  const MPI_Comm own = ranks_of_session(line);
  const auto ride = open(line.ride, own);
  if (ride == nullptr) return EXIT_FAILURE;
  const MPI_Comm comm = ranks_of_lammps(line, *ride);
  if (ride->serve()) return EXIT_SUCCESS;
  const int rank = rank_in(ride->communicator());
  Ride::set_of_process(ride.get());
  run_lammps(line, comm);
  Ride::set_of_process(nullptr);
  close(*ride, rank);
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  try {
    const CommandLine line = read_command_line(argc, argv);
    if (line.help) {
      if (rank_in(MPI_COMM_WORLD) == 0) std::fputs(usage(), stdout);
      return EXIT_SUCCESS;
    }
    if (!line.ride.file.empty()) return ride_along(line);
    run_lammps(line, MPI_COMM_WORLD);
    return EXIT_SUCCESS;
  } catch (const std::exception& problem) {
    return fail(problem);
  }
}

}  // namespace

#ifdef PILLION_LAMMPS_IS_SHARED
// The command `clear` makes a new list of fixes, and then has this called, as a new LAMMPS does.
// The program's function goes before that of the shared library, which it calls.
void LAMMPS_NS::LAMMPS::post_create() {
  using PostCreate = void (*)(LAMMPS*);
  constexpr const char* name = "_ZN9LAMMPS_NS6LAMMPS11post_createEv";
  if (const auto whole = reinterpret_cast<PostCreate>(dlsym(RTLD_NEXT, name))) whole(this);
  add_fix(*this);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run(argc, argv);
  MPI_Finalize();
  return status;
}
