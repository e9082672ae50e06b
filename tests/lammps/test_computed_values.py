# SPDX-License-Identifier: BSD-3-Clause
"""Values that LAMMPS computes, as fields and scalars, against LAMMPS's own dump and `fix ave/time`
of the same run; bonds; minimisations; dump files.
"""

import itertools
import re

import numpy as np
import pytest
import yaml
from conftest import mpirun, read_table
from datasets import read_raw
from lammps_inputs import MIXTURE, RIDE
from lammps_runs import configuration, lmp, read_dump, read_scalars
from pillion.datasets.lammps_dumps import (
    DumpField,
    cut_frames_of,
    frames_of,
    is_dump,
    read_field,
)
from pillion.errors import Error
from test_edges import TILT

LATTICE = (4 / 0.8442) ** (1 / 3)  # of the mixture

COMPUTED = """
compute   stress all stress/atom NULL
compute   pe all pe/atom
variable  ke atom 0.5*mass*(vx*vx+vy*vy+vz*vz)
variable  press equal press
fix       own all property/atom i_mark d_weight
set       group all i_mark 7
set       group two d_weight 1.5
fix       mean all ave/atom 1 5 10 vx vy
"""
FIELDS = {
    "c_stress": {"mesh": "atoms", "type": "float64", "components": 6},
    "c_pe": {"mesh": "atoms", "type": "float64"},
    "v_ke": {"mesh": "atoms", "type": "float64"},
    "f_mean": {"mesh": "atoms", "type": "float64", "components": 2},
    "d_weight": {"mesh": "atoms", "type": "float64"},
    "i_mark": {"mesh": "atoms", "type": "int32"},
    "c_unused": {"mesh": "atoms", "type": "float64"},  # which no analysis uses
}
USED = [name for name in FIELDS if name != "c_unused"]
SCALARS = ["c_thermo_temp", "v_press"]
OWN = """
dump      own all custom 10 own.dump id c_stress[*] c_pe v_ke f_mean[*] d_weight i_mark
dump_modify own sort id format float %.17g
fix       scalars all ave/time 10 1 10 c_thermo_temp v_press file own.txt format " %.17g"
"""


def analyses(*stages, every="10 steps"):
    return {"a": {"every": every, "stages": list(stages)}}


def atoms_of(blocks, name):
    """All atoms of a step, by id."""
    ids = np.concatenate([block["id"] for block in blocks])
    return np.concatenate([block[name] for block in blocks])[np.argsort(ids)]


@pytest.mark.parametrize(
    ("ranks", "sidecars", "group"), [(2, 1, "all"), (3, 0, "two")], ids=["all", "group"]
)
def test_fields_and_scalars(build, tmp_path, ranks, sidecars, group):
    text = MIXTURE + COMPUTED + OWN + f"fix ride {group} pillion every 10\nrun 30\nrun 20\n"
    stages = {"write_raw": {"fields": ["id", *USED], "durable": False}}
    config = configuration(analyses(stages), sidecars, fields=FIELDS, scalars=SCALARS)
    lmp(build, tmp_path, text, config, ranks + sidecars)
    dump = read_dump(tmp_path / "own.dump")
    found = read_raw(tmp_path / "results/a", "atoms.raw.yaml")
    assert sorted(found) == sorted(dump) == [0, 10, 20, 30, 40, 50]
    for step, (_, rows) in dump.items():
        ids, columns, at = rows[:, 0].astype(int), rows[:, 1:], 0
        blocks = found[step][1]
        shared = np.sort(np.concatenate([block["id"] for block in blocks]))
        rows_of_group = np.searchsorted(ids, shared)
        assert len(shared) == (500 if group == "all" else 200)
        for name in USED:
            width = FIELDS[name].get("components", 1)
            wanted = columns[rows_of_group, at : at + width].reshape(len(shared), -1)
            values = atoms_of(blocks, name).reshape(len(shared), -1)
            np.testing.assert_allclose(values, wanted, rtol=1e-13, atol=1e-14, err_msg=name)
            at += width
    own = {int(row[0]): row[1:] for row in read_scalars(tmp_path / "own.txt")}
    head = yaml.safe_load((tmp_path / "results/a/atoms.raw.yaml").read_text())
    for entry in head["steps"]:
        index = yaml.safe_load((tmp_path / "results/a" / entry["index"]).read_text())
        for name, value in zip(SCALARS, own[entry["step"]], strict=True):
            assert float(index["scalars"][name]["value"]) == pytest.approx(value, rel=1e-12)


WRONG = {
    "no-compute": ("c_nope", {}, "names a compute that the input does not define"),
    "global": ("c_thermo_temp", {}, "names a compute that has no value for each atom"),
    "components": ("c_stress", {"components": 3}, "has 3 components, and LAMMPS's values 6"),
    "type": ("c_pe", {"type": "float32"}, "has another type than LAMMPS's values; declare"),
    "style": ("v_press", {}, "names a variable that is not of style atom"),
    "frequency": (
        "f_mean",
        {"components": 2},
        "names a fix that has values every 10 steps; use `every 10`",
    ),
    "property": ("d_mark", {}, "names no custom property of atoms with real values"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_field_that_lammps_has_not(build, tmp_path, case):
    name, more, words = WRONG[case]
    fields = {name: {"mesh": "atoms", "type": "float64", **more}}
    config = configuration(analyses({"statistics": {"fields": [name]}}), 1, fields=fields)
    text = MIXTURE.replace("run             60", "run 0") + COMPUTED + RIDE + "run 10\n"
    done = lmp(build, tmp_path, text, config, 3, check=False, timeout=60)
    assert done.returncode != 0
    assert f"field '{name}' {words}" in " ".join((done.stderr + done.stdout).split())


CHAIN = """
units       lj
atom_style  bond
newton      on NEWTON
read_data   chain.data
pair_style  zero 3.0
pair_coeff  * *
bond_style  harmonic
bond_coeff  * 50.0 1.0
comm_modify cutoff 3.0
velocity    all create 0.5 4711 loop geom
fix         move all nve
"""


@pytest.mark.parametrize("newton", ["on", "off"])
def test_bonds(build, tmp_path, newton):
    """A chain that folds back and forth, of two types of bonds."""
    atoms = 60
    places = [((n if n // 10 % 2 == 0 else 10 - n) % 10, n // 10, 0) for n in range(atoms)]
    rows = [f"{n + 1} 1 1 {x} {y} {z}" for n, (x, y, z) in enumerate(places)]
    bonds = [(1 + n % 2, n + 1, n + 2) for n in range(atoms - 1)]
    (tmp_path / "chain.data").write_text(
        f"chain\n\n{atoms} atoms\n{len(bonds)} bonds\n1 atom types\n2 bond types\n"
        "2 extra bond per atom\n0 10 xlo xhi\n0 10 ylo yhi\n0 10 zlo zhi\n\nMasses\n\n1 1.0\n\n"
        "Atoms\n\n"
        + "\n".join(rows)
        + "\n\nBonds\n\n"
        + "\n".join(f"{n + 1} {t} {a} {b}" for n, (t, a, b) in enumerate(bonds))
        + "\n"
    )
    stages = {"write_raw": {"fields": ["bond", "bond_type"], "durable": False}}
    config = configuration(analyses(stages), 1)
    text = CHAIN.replace("NEWTON", newton) + RIDE + "run 20\n"
    lmp(build, tmp_path, text, config, 4)
    found = read_raw(tmp_path / "results/a", "bonds.raw.yaml")
    assert sorted(found) == [0, 10, 20]
    for _, blocks in found.values():
        seen = sorted(
            (int(kind), *sorted(map(int, pair)))
            for block in blocks
            for kind, pair in zip(block["bond_type"], block["bond"].reshape(-1, 2), strict=True)
        )
        assert seen == sorted(bonds)


def test_before_and_after_a_minimisation(build, tmp_path):
    """The potential energy that LAMMPS's log has of these two states."""
    fields = {"c_pe": {"mesh": "atoms", "type": "float64"}}
    config = configuration(
        analyses({"statistics": {"fields": ["c_pe"]}}, every="1 steps"), 1, fields=fields
    )
    text = MIXTURE + "compute pe all pe/atom\nthermo_style custom step pe\n"
    text += "thermo_modify format float %.15g norm yes\nthermo 1000\n" + RIDE
    lmp(build, tmp_path, text + "minimize 0 1e-3 40 100\n", config, 3)
    lines = (tmp_path / "log.lammps").read_text().splitlines()
    first = max(n for n, line in enumerate(lines) if line.split() == ["Step", "PotEng"]) + 1
    wanted = [tuple(map(float, line.split())) for line in lines[first : first + 2]]
    table = read_table(tmp_path / "results/a/statistics_c_pe.csv")
    assert list(table["step"]) == [step for step, _ in wanted] and wanted[1][1] < wanted[0][1]
    np.testing.assert_allclose(table["mean"], [energy for _, energy in wanted], rtol=1e-12)


def test_dump_files(build, tmp_path):
    """A dump that LAMMPS or Pillion reads again gives the same statistics."""
    config = configuration(analyses({"statistics": {"fields": ["velocity", "force"]}}), 1)
    live, again, replayed = tmp_path / "live", tmp_path / "again", tmp_path / "replayed"
    dump = "dump d all custom 10 ../own.dump id type x y z vx vy vz fx fy fz\n"
    dump += "dump_modify d format float %.17g\n"
    lmp(build, live, MIXTURE + dump + RIDE + "run 50\n", config, 3)
    text = MIXTURE.replace("run             60", "run 0") + RIDE
    lmp(build, again, text + "rerun ../own.dump dump x y z vx vy vz\n", config, 3)
    replayed.mkdir()
    (replayed / "c.yaml").write_text(config)
    run = mpirun(
        3, build / "bin/pillion", "replay", "../own.dump", "c.yaml", cwd=replayed, timeout=60
    )
    assert "own.dump' does not say the times of its steps" in run.stderr
    for name, folder in itertools.product(("velocity", "force"), (again, replayed)):
        one, other = (
            read_table(place / f"results/a/statistics_{name}.csv") for place in (live, folder)
        )
        assert list(one["step"]) == list(other["step"]) == [0, 10, 20, 30, 40, 50]
        for column in one.columns.keys() - {"time"}:  # which dumps do not have
            np.testing.assert_allclose(one[column], other[column], rtol=1e-9, atol=1e-9)


def test_boxes_of_dump_files(build, tmp_path):
    """Scaled positions of a tilted box, against those that LAMMPS has unscaled."""
    text = MIXTURE + TILT + "dump d all custom 5 own.dump id element xs ys zs x y z\n"
    text += "dump_modify d format float %.17g element A B time yes units yes\nrun 10\n"
    lmp(build, tmp_path, text, None, 2)
    frames = frames_of(tmp_path / "own.dump")
    assert [frame.step for frame in frames] == [0, 5, 10]
    for frame in frames:
        assert frame.count == 500 and frame.domain.periodic == (True, True, True)
        assert frame.time == pytest.approx(0.3 + 0.005 * frame.step)
        lengths = np.subtract(frame.domain.hi, frame.domain.lo)
        np.testing.assert_allclose(lengths, [5 * LATTICE] * 3, rtol=1e-12)
        tilt = LATTICE * np.array([1.0, 0.5, -0.7])
        np.testing.assert_allclose(frame.domain.tilt, tilt, rtol=1e-12)
        scaled = DumpField("position", ("xs", "ys", "zs"), np.dtype("f8"))
        position = next(field for field in frame.fields() if field.name == "position")
        np.testing.assert_allclose(
            read_field(tmp_path / "own.dump", frame, scaled),
            read_field(tmp_path / "own.dump", frame, position),
            atol=1e-12,
        )
    whole = (tmp_path / "own.dump").read_bytes()
    (tmp_path / "cut.dump").write_bytes(whole[:-100] + whole)
    assert [frame.step for frame in frames_of(tmp_path / "cut.dump")] == [0, 5, 0, 5, 10]
    (cut,) = cut_frames_of(tmp_path / "cut.dump")
    assert re.fullmatch("step 10 has 49. of its 500 atoms", cut)


def test_binary_dump_files(build, tmp_path):
    """Of two ranks and of several frames, against what LAMMPS's own text files have."""
    columns = "id type xs ys zs vx vy vz"
    text = MIXTURE + TILT
    for name in ("text.dump", "frames.dump.bin"):
        text += f"dump {name[0]} all custom 5 {name} {columns}\n"
        text += f"dump_modify {name[0]} time yes units yes\n"
    text += "dump_modify t format float %.17g\ndump a all atom 10 dump.atoms.bin\n"
    lmp(build, tmp_path, text + "run 10\n", None, 2)
    binary, wanted = tmp_path / "frames.dump.bin", tmp_path / "text.dump"
    assert is_dump(binary.name) and is_dump("dump.atoms.bin")
    pairs = list(zip(frames_of(binary), frames_of(wanted), strict=True))
    assert [frame.step for frame, _ in pairs] == [0, 5, 10]
    for frame, other in pairs:
        assert (frame.count, frame.columns) == (other.count, other.columns)
        assert frame.time == pytest.approx(other.time) and frame.parts == 2
        assert frame.domain.periodic == other.domain.periodic
        for name in ("lo", "hi", "tilt"):
            one, two = getattr(frame.domain, name), getattr(other.domain, name)
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
        for field in other.fields():
            found, values = read_field(binary, frame, field), read_field(wanted, other, field)
            assert found.dtype == values.dtype
            np.testing.assert_array_equal(found, values, err_msg=field.name)
    atoms = frames_of(tmp_path / "dump.atoms.bin")
    assert [frame.step for frame in atoms] == [0, 10]
    assert atoms[1].columns == ("id", "type", "xs", "ys", "zs") and atoms[1].time is None
    whole = binary.read_bytes()
    (tmp_path / "cut.dump").write_bytes(whole[:-100])
    assert [frame.step for frame in frames_of(tmp_path / "cut.dump")] == [0, 5]
    assert "step 10 has not all" in cut_frames_of(tmp_path / "cut.dump")[0]
    (tmp_path / "cut.dump").write_bytes(whole[:20])
    with pytest.raises(Error, match="no whole frame: the frame that begins at byte 0 is cut"):
        frames_of(tmp_path / "cut.dump")
