// SPDX-License-Identifier: BSD-3-Clause
// The fix asks LAMMPS for atoms at steps that are due, and at no others. With the KOKKOS package
// such a request copies them from the device. This program stands in for that package: it replaces
// LAMMPS's atoms by some that count the requests, as AtomKokkos answers them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "fix_pillion.hpp"
#include "lammps_headers.hpp"

namespace {

class CountingAtom : public LAMMPS_NS::Atom {
 public:
  explicit CountingAtom(LAMMPS_NS::LAMMPS* lammps) : Atom(lammps) {}

  void sync_modify(LAMMPS_NS::ExecutionSpace space, unsigned int read,
                   unsigned int modified) override {
    if (space == LAMMPS_NS::Host && read != 0 && modified == 0) steps.push_back(update->ntimestep);
    else ++wrong;
  }

  std::vector<LAMMPS_NS::bigint> steps;
  int wrong = 0;
};

constexpr const char* configuration = R"(
output: transfers
analyses:
  all:
    every: 5 steps
    stages: [{msd: {species: {all: [1]}, origins: first}}]
)";

constexpr const char* commands[] = {"units lj",
                                    "atom_modify map array",
                                    "lattice fcc 0.8442",
                                    "region box block 0 3 0 3 0 3",
                                    "create_box 1 box",
                                    "create_atoms 1 box",
                                    "mass 1 1.0",
                                    "velocity all create 1.0 87287",
                                    "pair_style lj/cut 2.5",
                                    "pair_coeff 1 1 1.0 1.0 2.5",
                                    "fix move all nve",
                                    "fix ride all pillion config transfers.yaml",
                                    "run 12",
                                    "run 4"};

/// Whether what was seen is what KOKKOS needs to see.
bool is_right(const CountingAtom& atom, const LAMMPS_NS::Fix& fix) {
  // Once before the first step, when all fields must have been shared, and whenever it is due.
  const std::vector<LAMMPS_NS::bigint> expected{0, 0, 5, 10, 15};
  if (fix.datamask_read != 0 || fix.datamask_modify != 0 || atom.wrong != 0) return false;
  return atom.steps == expected;
}

bool run(MPI_Comm comm) {
  std::ofstream("transfers.yaml") << configuration;
  std::vector<std::string> words{"fix_transfers", "-screen", "none", "-log", "none"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  LAMMPS_NS::LAMMPS lammps(static_cast<int>(words.size()), argv.data(), comm);
  delete lammps.atom;
  auto* atom = new CountingAtom(&lammps);  // LAMMPS deletes it
  lammps.atom = atom;
  atom->create_avec("atomic", 0, nullptr, 1);
  (*lammps.modify->fix_map)["pillion"] = &pillion::lammps::create_fix;
  for (const char* command : commands) lammps.input->one(command);
  const auto* fix = lammps.modify->fix[lammps.modify->find_fix("ride")];
  const bool right = is_right(*atom, *fix);
  if (!right) {
    std::fprintf(stderr, "masks %x %x, %d wrong requests, requests at steps", fix->datamask_read,
                 fix->datamask_modify, atom->wrong);
    for (const auto step : atom->steps) std::fprintf(stderr, " %ld", static_cast<long>(step));
    std::fputs("\n", stderr);
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool right = run(MPI_COMM_WORLD);
  MPI_Finalize();
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
