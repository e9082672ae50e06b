# SPDX-License-Identifier: BSD-3-Clause
"""Stages against libraries that others wrote and many use: freud and tidynamics."""

import freud
import numpy as np
import oracles
import pytest
import tidynamics
import worlds
from conftest import read_table
from scenes import Placement, Scene

CUTOFF, BINS, FRAMES = 4.7, 80, 12
ANALYSES = f"""
analyses:
  structure:
    every: 50 steps
    stages:
      - rdf: {{species: {{H: 1, O: 2, ion: [3, 4]}}, pairs: [[H, O], [O, O], [ion, ion]],
              cutoff: {CUTOFF}, bins: {BINS}}}
  exact:
    every: 50 steps
    stages:
      - rdf: {{species: {{O: 2}}, pairs: [[O, O]], cutoff: {CUTOFF}, bins: {BINS}, density: N}}
  windowed:
    every: 50 steps
    stages:
      - msd: {{species: {{O: 2}}, origins: {{every: 1, keep: {FRAMES}}}}}
      - vacf: {{species: {{O: 2}}, origins: {{every: 1, keep: {FRAMES}}}}}
  first:
    every: 50 steps
    stages:
      - msd: {{species: {{O: 2}}, origins: first}}
"""


@pytest.fixture(scope="module", params=[0, 2], ids=["simulation", "sidecars"])
def played(request, build, tmp_path_factory):
    """Positions are multiples of 1/256, which freud's single precision holds exactly."""
    frames = worlds.walk(
        np.random.default_rng(11),
        particles=600,
        frames=FRAMES,
        edges=12.5,
        tilt=(0.25, 0.125, -0.25),
    )
    for frame in frames:
        frame.values["position"] = np.round(frame["position"] * 256) / 256
    scene = Scene("peers", frames, worlds.catalogue(frames), ANALYSES, "trajectory_driver")
    place = Placement(2, request.param, "migrate")
    results, _ = scene.run(build, tmp_path_factory.mktemp("run"), place)
    return frames, results


def freud_box(domain) -> freud.box.Box:
    (lx, _, _), (xy, ly, _), (xz, yz, lz) = domain.edges
    return freud.box.Box(lx, ly, lz, xy / ly, xz / lz, yz / lz)


def freud_rdf(frames, a, b, mode):
    compute = freud.density.RDF(bins=BINS, r_max=CUTOFF, normalization_mode=mode)
    total = np.zeros(BINS, np.int64)
    for number, frame in enumerate(frames):
        box = freud_box(frame.domain)
        centre = frame.domain.lo + frame.domain.edges.sum(0) / 2
        at = box.wrap(frame["position"] - centre)
        first, second = at[np.isin(frame["type"], a)], at[np.isin(frame["type"], b)]
        compute.compute((box, second), None if a == b else first, reset=number == 0)
    total += np.asarray(compute.bin_counts, dtype=np.int64)
    return total, np.asarray(compute.rdf)


@pytest.mark.parametrize("a, b", [("H", "O"), ("O", "O"), ("ion", "ion")])
def test_rdf_of_freud(played, a, b):
    frames, results = played
    types = {"H": [1], "O": [2], "ion": [3, 4]}
    counts, g = freud_rdf(frames, types[a], types[b], "finite_size" if a == b else "exact")
    table = read_table(results / "structure" / "rdf.csv")
    # freud computes in single precision: pairs within its rounding of an edge may differ.
    edges = np.linspace(0, CUTOFF, BINS + 1)
    near = np.zeros(BINS + 1, np.int64)
    for frame in frames:
        masks = [np.isin(frame["type"], types[s]) for s in (a, b)]
        r = oracles.distances(frame, *masks)
        near += (np.abs(r[:, None] - edges) < 2e-6).sum(0)
    found = table[f"count_{a}_{b}"]
    assert np.all(np.abs(found - counts) <= near[1:] + near[:-1])
    assert near.sum() < 1e-3 * counts.sum()
    same = found == counts
    assert same.sum() > 0.9 * BINS
    np.testing.assert_allclose(table[f"g_{a}_{b}"][same], g[same], rtol=2e-5)


def test_rdf_of_freud_with_all_particles(played):
    frames, results = played
    counts, g = freud_rdf(frames, [2], [2], "exact")
    table = read_table(results / "exact" / "rdf.csv")
    same = table["count_O_O"] == counts
    assert same.sum() > 0.9 * BINS
    np.testing.assert_allclose(table["g_O_O"][same], g[same], rtol=2e-5)


def tracks(frames, vectors):
    """[frame, particle, component] of the oxygens, in one order of ids."""
    out = []
    for frame, v in zip(frames, vectors):
        chosen = frame["type"] == 2
        out.append(v[chosen][np.argsort(frame["id"][chosen])])
    return np.array(out)


def test_msd_of_freud(played):
    frames, results = played
    at = tracks(frames, [worlds.unwrap(f) for f in frames])
    for folder, mode in (("windowed", "window"), ("first", "direct")):
        expected = freud.msd.MSD(mode=mode).compute(at).msd
        found = read_table(results / folder / "msd.csv")["msd_O"]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_msd_and_vacf_of_tidynamics(played):
    frames, results = played
    at = tracks(frames, [worlds.unwrap(f) for f in frames])
    velocity = tracks(frames, [f["velocity"] for f in frames])
    particles = range(at.shape[1])
    msd = np.mean([tidynamics.msd(at[:, p]) for p in particles], axis=0)
    acf = np.mean([tidynamics.acf(velocity[:, p]) for p in particles], axis=0)
    found = read_table(results / "windowed" / "msd.csv")["msd_O"]
    np.testing.assert_allclose(found, msd, rtol=1e-9, atol=1e-9)
    found = read_table(results / "windowed" / "vacf.csv")["vacf_O"]
    np.testing.assert_allclose(found, acf, rtol=1e-9, atol=1e-12)
