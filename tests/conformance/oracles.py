# SPDX-License-Identifier: BSD-3-Clause
"""What stages must find, by the plainest means: every pair with every other, every origin with
every later frame, in numpy. Nothing here is shared with the code under test."""

import itertools

import numpy as np
from frames import Frame


def nearest_image(difference: np.ndarray, domain) -> np.ndarray:
    """The shortest of the 27 images of each difference."""
    best = None
    ranges = [(-1, 0, 1) if periodic else (0,) for periodic in domain.images]
    fraction = difference @ np.linalg.inv(domain.edges)
    fraction -= np.round(fraction) * domain.images
    reduced = fraction @ domain.edges
    for shift in itertools.product(*ranges):
        candidate = reduced + np.array(shift) @ domain.edges
        squares = (candidate**2).sum(-1)
        if best is None:
            best, least = candidate.copy(), squares
        else:
            closer = squares < least
            best[closer], least = candidate[closer], np.minimum(squares, least)
    return best


def distances(frame: Frame, a: np.ndarray, b: np.ndarray, exclude_molecules=False) -> np.ndarray:
    """Of all ordered pairs of different particles, first in a, second in b (boolean masks)."""
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    first, second = (m.ravel() for m in np.meshgrid(i, j, indexing="ij"))
    keep = first != second
    if exclude_molecules:
        molecule = frame["molecule"]
        keep &= (molecule[first] != molecule[second]) | (molecule[first] == 0)
    first, second = first[keep], second[keep]
    at = frame.domain.flattened(frame["position"])
    return np.linalg.norm(nearest_image(at[first] - at[second], frame.domain), axis=1)


def rdf(frames, types_a, types_b, cutoff, bins, *, exclude_molecules=False, others=True):
    """Counts, g, coordination number, and counts of pairs so near to an edge that rounding decides.

    Ordered pairs; g is the time average with the number of pairs over volume of each frame.
    """
    edges = np.linspace(0, cutoff, bins + 1)
    counts, expected, centres = np.zeros(bins, np.int64), 0.0, 0
    doubtful = np.zeros(bins + 1, np.int64)
    for frame in frames:
        a, b = np.isin(frame["type"], types_a), np.isin(frame["type"], types_b)
        r = distances(frame, a, b, exclude_molecules)
        counts += np.histogram(r[r < cutoff], edges)[0]
        slack = 1e-6 if frame["position"].dtype == np.float32 else 1e-12
        doubtful += (np.abs(r[:, None] - edges[None, :]) < slack).sum(0)
        pairs = a.sum() * b.sum() - (np.count_nonzero(a & b) if others else 0)
        expected += pairs / frame.domain.volume
        centres += a.sum()
    flat = frames[0].domain.dimensions == 2
    shells = np.pi * np.diff(edges**2) if flat else 4 / 3 * np.pi * np.diff(edges**3)
    return counts, counts / (shells * expected), np.cumsum(counts) / centres, doubtful


def by_species(frame: Frame, vectors: np.ndarray, types, per: str) -> dict[int, np.ndarray]:
    """Vector by key: of each particle of the types, or the centre of mass of each molecule."""
    chosen = np.flatnonzero(np.isin(frame["type"], types))
    if per == "particle":
        return {int(frame["id"][i]): vectors[i] for i in chosen}
    out = {}
    for m in np.unique(frame["molecule"][chosen]):
        members = chosen[frame["molecule"][chosen] == m]
        if m != 0:
            out[int(m)] = np.average(vectors[members], axis=0, weights=frame["mass"][members])
    return out


def masses_of(frame: Frame, types, per: str) -> dict[int, float]:
    """Mass by key, as by_species."""
    chosen = np.flatnonzero(np.isin(frame["type"], types))
    keys = frame["id" if per == "particle" else "molecule"][chosen]
    return {int(k): float(frame["mass"][chosen][keys == k].sum()) for k in np.unique(keys)}


def correlate(frames, vectors, types, term, *, origins, per="particle", drift_types=None):
    """Means over origins and keys, by lag in steps: {lag: (time, samples, component means)}.

    `vectors` are arrays, one per frame; `term(now, then)` gives the three components' terms;
    `origins` is "first" or (every, keep). The centre of mass of those of `drift_types` that are
    there at both times is taken off.
    """

    def tracks_of(some):
        return [by_species(frame, v, some, per) for frame, v in zip(frames, vectors)]

    def centres(now, then):
        if drift_types is None:
            return 0, 0
        keys = sorted(drifting[now].keys() & drifting[then].keys())
        weights = [masses[now][k] for k in keys]
        return (
            np.average([drifting[n][k] for k in keys], axis=0, weights=weights) if keys else 0
            for n in (now, then)
        )

    tracks = tracks_of(types)
    drifting = tracks_of(drift_types or [])
    masses = [masses_of(frame, drift_types or [], per) for frame in frames]
    found = {}
    for now in range(len(frames)):
        if origins == "first":
            starts = [0]
        else:
            every, keep = origins
            starts = [n for n in range(now + 1) if n % every == 0][-keep:]
        for then in starts:
            keys = tracks[now].keys() & tracks[then].keys()
            here, there = centres(now, then)
            terms = [term(tracks[now][k] - here, tracks[then][k] - there) for k in sorted(keys)]
            lag = frames[now].step - frames[then].step
            entry = found.setdefault(lag, ([], []))
            entry[0].append(frames[now].time - frames[then].time)
            entry[1].extend(terms)
    return {
        lag: (np.mean(times), len(terms), np.mean(terms, axis=0) if terms else np.full(3, np.nan))
        for lag, (times, terms) in sorted(found.items())
    }


def squared_displacement(now, then):
    return (now - then) ** 2


def velocity_product(now, then):
    return now * then
