#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What theory says of the matter in a run of this example, for `pillion report` to draw beside it:
the linear power spectrum of Eisenstein and Hu (1998) at each step's redshift, and the number of
halos by mass of Sheth and Tormen (1999). Both are those of the library colossus, not of this
program. Written to OUTPUT/compare, where the report looks for them.

    theory.py OUTPUT
"""

import sys
from pathlib import Path

import numpy as np
from colossus.cosmology import cosmology
from colossus.lss import mass_function
from pillion.tables import FOLDER, Table, read_table, write_comparison


def universe(parameters: dict[str, str]) -> cosmology.Cosmology:
    """Flat, without radiation, as the program has it."""
    wanted = ["omega_m", "omega_b", "hubble", "sigma_8", "tilt"]
    if missing := [name for name in wanted if name not in parameters]:
        sys.exit(f"theory: the tables do not say the parameters {', '.join(missing)}")
    value = {name: float(parameters[name]) for name in wanted}
    return cosmology.setCosmology(
        "pillion",
        flat=True,
        relspecies=False,
        H0=100 * value["hubble"],
        Om0=value["omega_m"],
        Ob0=value["omega_b"],
        sigma8=value["sigma_8"],
        ns=value["tilt"],
        persistence="",
    )


def linear_power(table: Table, world: cosmology.Cosmology) -> dict[str, np.ndarray]:
    """In Mpc^3 over k in 1/Mpc; colossus has h in both."""
    k, z = table["k"], 1 / table.time - 1
    power = world.matterPowerSpectrum(k / world.h, z=z, model="eisenstein98") / world.h**3
    return {"k": k, "power": power, "dimensionless": k**3 * power / (2 * np.pi**2)}


def halo_numbers(table: Table, world: cosmology.Cosmology) -> dict[str, np.ndarray]:
    """Per Mpc^3 and decade of mass, in the middle of the table's bins."""
    mass, z = np.sqrt(table["lower"] * table["upper"]), 1 / table.time - 1
    found = mass_function.massFunction(
        mass * world.h, z, q_in="M", q_out="dndlnM", mdef="fof", model="sheth99"
    )
    return {"mass": mass, "density": found * world.h**3 * np.log(10)}


def main(output: Path) -> None:
    folder = output / "matter"
    spectra = sorted(folder.glob("power_spectrum_matter.*.csv"))
    if not spectra:
        sys.exit(f"theory: there are no spectra of matter in {folder}")
    world = universe(read_table(spectra[-1]).parameters)
    for path in spectra:
        label = "linear theory"
        write_comparison(
            output / FOLDER / "matter" / path.name, label, linear_power(read_table(path), world)
        )
    for path in sorted(folder.glob("halo_mass_function_matter.*.csv")):
        table = read_table(path)
        if table.rows > 0 and table["count"].sum() > 0:
            label = "Sheth and Tormen"
            write_comparison(
                output / FOLDER / "matter" / path.name, label, halo_numbers(table, world)
            )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
