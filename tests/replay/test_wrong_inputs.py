# SPDX-License-Identifier: BSD-3-Clause
"""What cannot be replayed is refused before the first step, in one sentence that helps, on every
rank alike and without a hang."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from replaying import needs_hdf5, replay, write_hdf5, write_npy

CONFIGURATION = """
sidecars: {ranks: $sidecars}
meshes:
  grid: {kind: uniform, cells: [$n, 4, 5]}
  stars: {kind: particles}
fields:
  gas: {mesh: grid, type: float32}
  unused: {mesh: grid, type: float64}
  place: {mesh: stars, type: float64, components: 3}
  id: {mesh: stars, type: int32}
analyses:
  a:
    stages:
      - statistics: {fields: [gas, place, id]}
"""


def good(folder):
    for step in (0, 2):
        write_npy(folder / "f", "gas", step, np.ones((5, 4, 3), np.float32))
        write_npy(folder / "f", "place", step, np.ones((7, 3)))
        write_npy(folder / "f", "id", step, np.arange(7, dtype=np.int32))
    (folder / "f/snapshots.yaml").write_text(
        "parameters: {n: 3}\ndomains: {stars: {length: [2, 2, 2]}}\n"
    )


def gas(array):
    return lambda folder: np.save(folder / "f/gas.000002.npy", array)


def bytes_of(name: str, change):
    def work(folder):
        path = folder / "f" / name
        path.write_bytes(change(path.read_bytes()))

    return work


def about(text: str):
    return lambda folder: (folder / "f/snapshots.yaml").write_text(text)


def remove(name: str):
    return lambda folder: (folder / "f" / name).unlink()


def copy(name: str, to: str):
    return lambda folder: (folder / to).write_bytes((folder / "f" / name).read_bytes())


def hdf5(arrays=None, content=None, **attributes):
    def work(folder):
        if content is None:
            write_hdf5(folder / "f/more_4.h5", arrays, **attributes)
        else:
            (folder / "f/more_4.h5").write_bytes(content)

    return work


FULL = {
    "gas": np.ones((5, 4, 3), np.float32),
    "place": np.ones((7, 3)),
    "id": np.arange(7, dtype=np.int32),
}
NOTHING = lambda folder: None  # noqa: E731
WORDS = ("f", "c.yaml")

# What is wrong with the folder of files, or with the words; and what must be said of it.
WRONG = {
    "no file": (NOTHING, ("g.npy", "c.yaml"), "'g.npy' is not there"),
    "another format": (copy("id.000000.npy", "x.txt"), ("x.txt", "c.yaml"), "is neither .npy nor"),
    "no configuration": (NOTHING, ("f", "d.yaml"), "d.yaml"),
    "no field of it": (
        copy("id.000000.npy", "other.0.npy"),
        ("--about", "f/snapshots.yaml", "other.0.npy", "c.yaml"),
        "none of the 1 files holds a field that analyses use, such as 'gas'; see --name",
    ),
    "a field is missing": (
        remove("id.000002.npy"),
        WORDS,
        "field 'id', which analyses use, is missing at step 2: there is no 'f/id.000002.npy'",
    ),
    "a field twice": (
        lambda folder: np.save(folder / "gas_0.npy", np.full((5, 4, 3), 7, np.float32)),
        ("gas_0.npy", "--about", "f/snapshots.yaml", *WORDS),
        "field 'gas' is there twice at step 0: in 'f/gas.000000.npy' and in 'gas_0.npy'",
    ),
    "another shape": (
        gas(np.ones((5, 4, 4), np.float32)),
        WORDS,
        "'f/gas.000002.npy' has shape [5, 4, 4], but field 'gas' on mesh 'grid' needs [5, 4, 3]",
    ),
    "indexed otherwise": (gas(np.ones((3, 4, 5), np.float32)), WORDS, "say --axes xyz"),
    "more digits": (gas(np.ones((5, 4, 3))), WORDS, "holds float64, but field 'gas' is declared"),
    "complex": (gas(np.ones((5, 4, 3), np.complex64)), WORDS, "type '<c8', which are not read"),
    "records": (gas(np.ones(3, [("x", "f4"), ("y", "i4")])), WORDS, "values of type 'records'"),
    "cut short": (bytes_of("gas.000002.npy", lambda b: b[:-8]), WORDS, "was it written whole?"),
    "head cut short": (bytes_of("gas.000002.npy", lambda b: b[:50]), WORDS, "ends within its head"),
    "empty": (bytes_of("gas.000002.npy", lambda b: b""), WORDS, "ends within its head"),
    "no npy": (bytes_of("gas.000002.npy", lambda b: b"x" * 200), WORDS, "does not begin as such"),
    "numbers differ": (
        lambda folder: np.save(folder / "f/id.000002.npy", np.arange(8, dtype=np.int32)),
        WORDS,
        "'f/id.000002.npy' holds 8 particles, but 'f/place.000002.npy' holds 7",
    ),
    "no domain": (
        about("parameters: {n: 3}\n"),
        WORDS,
        "mesh 'stars' has no domain at step 0; say --domain stars=LX,LY,LZ",
    ),
    "domain of nothing": (
        NOTHING,
        ("--domain", "grid=1,1,1", *WORDS),
        "no particles on a mesh 'grid'",
    ),
    "no parameter": (
        about("domains: {stars: {length: [2, 2, 2]}}\n"),
        WORDS,
        "parameter '$n' has no value",
    ),
    "some times": (
        about("parameters: {n: 3}\ndomains: {stars: {length: [2, 2, 2]}}\nsteps: {0: {time: 1}}\n"),
        WORDS,
        "step 2 has no time, while other steps have",
    ),
    "broken about": (about("parameter: {n: 3}\n"), WORDS, "f/snapshots.yaml:1: unknown key"),
    "no about": (NOTHING, ("--about", "g.yaml", *WORDS), "'g.yaml' cannot be read"),
    "name of nothing": (NOTHING, ("--name", "gs=x", *WORDS), "has no field 'gs'; it has gas"),
    "other configuration": (
        lambda folder: (folder / "c.yaml").write_text(CONFIGURATION.replace("stages", "stage")),
        WORDS,
        "analysis 'a' lacks 'stages'; is 'stage' meant",
    ),
    "no hdf5": (hdf5(content=b"x" * 5000), WORDS, "it is not an HDF5 file, or broken"),
    "no dataset": (hdf5({"gas": FULL["gas"]}), WORDS, "'f/more_4.h5' has no dataset 'id'"),
    "dataset twice": (
        hdf5({**FULL, "b/gas": FULL["gas"]}),
        WORDS,
        "dataset '/b/gas' and in 'f/more_4.h5', dataset '/gas'",
    ),
    "dataset of text": (
        hdf5({**FULL, "gas": np.array([b"a"] * 60).reshape(5, 4, 3)}),
        WORDS,
        "dataset '/gas' holds values of type 'text', which are not read",
    ),
    "step is there": (hdf5(FULL, step=2), WORDS, "is there twice at step 2"),
}


def hdf5_is_needed(case: str) -> bool:
    return "h5" in WRONG[case][2] or "hdf5" in case or "dataset" in case or "step is" in case


@pytest.fixture(scope="module")
def outcomes(build, tmp_path_factory):
    """What becomes of each case, on one rank and on two with a sidecar. Launchers of programs that
    fail mostly sleep, so several run at a time."""
    with ThreadPoolExecutor(4) as pool:
        yield {
            (case, ranks): (folder, pool.submit(outcome, build, folder, case, ranks))
            for case in WRONG
            for ranks in (1, 3)
            for folder in [tmp_path_factory.mktemp("case")]
        }


def outcome(build, folder, case, ranks):
    make, words, _ = WRONG[case]
    (folder / "c.yaml").write_text(CONFIGURATION)
    good(folder)
    make(folder)
    setting = f"sidecars={0 if ranks == 1 else 1}"
    return replay(build, folder, ranks, "--set", setting, *words, check=False)


@pytest.mark.drawn
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("case", WRONG)
def test_refused(build, outcomes, case, ranks):
    if hdf5_is_needed(case):
        needs_hdf5(build)
    folder, running = outcomes[case, ranks]
    done = running.result()
    assert done.returncode == 1
    ours = [line for line in done.stderr.splitlines() if line.startswith("pillion")]
    assert len(ours) == 1 and WRONG[case][2] in ours[0], done.stderr
    assert not list(folder.rglob("*.csv"))


def test_the_same_without_a_mistake(build, tmp_path):
    """So that the table above tests what it says."""
    (tmp_path / "c.yaml").write_text(CONFIGURATION)
    good(tmp_path)
    replay(build, tmp_path, 3, "--set", "sidecars=1", "f", "c.yaml")
    assert (tmp_path / "results/a/statistics_gas.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which files, and which configuration?"),
        (("f", "--frob", "c.yaml"), "there is no option '--frob'"),
        (("c.yaml", "f"), "the last word is the configuration"),
    ],
)
def test_a_wrong_command_line(build, tmp_path, words, said):
    done = replay(build, tmp_path, 1, *words, check=False)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""
