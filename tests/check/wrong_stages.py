# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes in stages and their parameters; see wrong.py."""

from wrong import wrong

STAGES = [
    wrong(
        "stage",
        "- power_spectrum:",
        "- power_spectrm:",
        "did you mean 'power_spectrum'?",
        schema=True,
    ),
    wrong("parameter", "thresholds:", "treshholds:", "did you mean 'thresholds'?", schema=True),
    wrong(
        "parameter that is required",
        "          h: 0.7\n",
        "",
        "'lyman_alpha' lacks 'h'",
        "Hubble",
        line="- lyman_alpha",
        schema=True,
    ),
    wrong(
        "two stages with one product",
        "- histogram: {field: density, range: [1, 100]}",
        "- histogram: {field: density, range: [1, 100]}\n"
        "      - histogram: {field: density, range: [1, 10]}",
        "'histogram_density.csv'",
        "stage 'histogram' on line 29",
        "different names",
        line="- histogram: {field: density, range: [1, 10]}",
    ),
    wrong(
        "two datasets with one name",
        "- statistics: {fields: [heat]}",
        "- write_idx: {fields: [n_HI], name: grid}\n      - statistics: {fields: [heat]}",
        "'grid.idx'",
        "on line 53",
        line="- write_idx: {fields: [n_HI]",
    ),
    wrong(
        "two stages with one product, on both sides",
        "- statistics: {fields: [speed]}",
        "- image: {draw: [slice: {field: density}], at: simulation}\n"
        "      - image: {draw: [slice: {field: warmth}]}",
        "'image.png'",
        "on line 37",
        line="- image: {draw: [slice: {field: warmth",
    ),
    wrong("place", "at: sidecar", "at: sidecars", "did you mean 'sidecar'?", schema=True),
    wrong(
        "sidecar without sidecars",
        "ranks: 2",
        "ranks: 0",
        "wants a sidecar",
        "per_node: 1",
        line="- halos: {",
    ),
    wrong(
        "simulation after sidecar",
        "- statistics: {fields: [speed]}",
        "- statistics: {fields: [velocity]}\n      - slice: {field: density, at: simulation}",
        "come first",
        line="- slice",
    ),
    wrong(
        "field", "fields: [heat]", "fields: [haet]", "unknown field 'haet'", "did you mean 'heat'?"
    ),
    wrong(
        "field that a later stage makes",
        "- magnitude: {field: velocity",
        "- statistics: {fields: [speed], at: simulation}\n      - magnitude: {field: velocity",
        "field 'speed' is not known here",
        "before this one",
    ),
    wrong(
        "name that is taken",
        "into: speed",
        "into: density",
        "field 'density' already",
        line="- magnitude",
    ),
    wrong(
        "scale", "scale: log, bins", "scale: logarithmic, bins", "'logarithmic'", "log", schema=True
    ),
    wrong(
        "shells without bins", "scale: log, bins: $bins", "scale: log", "need a number of `bins`"
    ),
    wrong("bins below one", "bins: $bins}", "bins: 0}", "at least 1", "not 0"),
    wrong(
        "bins that are not whole", "bins: $bins}", "bins: 2.5}", "an integer", "'2.5'", schema=True
    ),
    wrong(
        "spectrum of particles",
        "power_spectrum: {field: density",
        "power_spectrum: {field: type",
        "uniform mesh",
    ),
    wrong(
        "spectrum of what is not periodic",
        "power_spectrum: {field: density",
        "power_spectrum: {field: heat",
        "not periodic",
    ),
    wrong(
        "shot noise of an unknown cloud",
        "power_spectrum: {field: density",
        "power_spectrum: {field: density, shot_noise: 1000",
        "say `cloud: ngp`",
    ),
    wrong(
        "two clouds",
        "power_spectrum: {field: density",
        "power_spectrum: {field: density, shot_noise: 1000, window: cic, cloud: tsc",
        "`cloud: tsc` contradicts `window: cic`",
    ),
    wrong(
        "cloud of no shot noise",
        "power_spectrum: {field: density",
        "power_spectrum: {field: density, cloud: tsc",
        "`cloud` goes with `shot_noise`",
    ),
    wrong("width of no shell", "scale: log, bins: $bins", "width: 0", "above 0", "not 0"),
    wrong("range upside down", "range: [1, 100]", "range: [100, 1]", "[100, 1]"),
    wrong(
        "range of logarithms from 0", "range: [1, 100]", "range: [0, 100], scale: log", "above 0"
    ),
    wrong(
        "range as a number",
        "range: [1, 100]",
        "range: 100",
        "[LOWEST, HIGHEST]",
        "not 100",
        schema=True,
    ),
    wrong(
        "component that there is not",
        "histogram: {field: density",
        "histogram: {component: 3, field: velocity",
        "component",
        "3",
    ),
    wrong(
        "thresholds upside down",
        "[[80, 200]]",
        "[[200, 80]]",
        "below that of the boundary",
        "[200, 80]",
    ),
    wrong(
        "thresholds without pairs",
        "[[80, 200]]",
        "[80, 200]",
        "a pair [BOUNDARY, PEAK]",
        "not 80",
        schema=True,
    ),
    wrong(
        "halos of particles",
        "- halos: {field: density",
        "- halos: {field: type",
        "'type'",
        "uniform mesh",
    ),
    wrong(
        "result without a name",
        "velocity, into: speed,",
        "velocity,",
        "lacks 'into'",
        line="- magnitude",
        schema=True,
    ),
    wrong("matter density below none", "omega_m: 0.3", "omega_m: -0.3", "at least 0", "-0.3"),
    wrong("mean flux", "h: 0.7", "mean_flux: 1.5\n          h: 0.7", "between 0 and 1", "1.5"),
    wrong("axis of sight", "h: 0.7", "axes: [w]\n          h: 0.7", "'w'"),
    wrong(
        "time is what", "redshift: 3", "time_is: seconds", "'seconds'", "scale_factor", schema=True
    ),
    wrong(
        "velocity of one component",
        "          velocity: velocity",
        "          velocity: density",
        "density",
        "3",
    ),
    wrong("pair of unknown species", "pairs: [[O, H]]", "pairs: [[O, N]]", "'N'", "species: O, H"),
    wrong("cutoff of nothing", "cutoff: 8.0", "cutoff: 0", "above 0", "not 0"),
    wrong("species without types", "O: [1]", "O: []", "'O'"),
    wrong(
        "position of another mesh",
        "pairs: [[O, H]]",
        "position: velocity, pairs: [[O, H]]",
        "particles",
        "velocity",
    ),
    wrong("types that are real", "    type: int32", "    type: float32", "integer", line="- rdf"),
    wrong(
        "the old name of three stages",
        "- write_idx: {fields: [density, velocity]}",
        "- write: {fields: [density, velocity]}",
        "there is no stage 'write', but one for each format: write_idx, write_hdf5",
        schema=True,
    ),
    wrong(
        "parameter of another stage",
        "fields: [density, velocity]}",
        "fields: [density, velocity], shuffle: true}",
        "unknown key 'shuffle'",
        "write_idx",
        schema=True,
    ),
    wrong(
        "phases",
        "fields: [density, velocity]}",
        "fields: [density, velocity], phases: 4}",
        "1 to 3",
        "not 4",
        schema=True,
    ),
    wrong(
        "compression",
        "fields: [density, velocity]}",
        "fields: [density, velocity], compression: bzip}",
        "bzip",
        "zip",
        schema=True,
    ),
    wrong(
        "sides of boxes",
        "fields: [density, velocity]}",
        "fields: [density, velocity], box: [48, 48, 48]}",
        "powers of two",
        "48",
    ),
    wrong(
        "tolerance",
        "fields: [density, velocity]}",
        "fields: [density, velocity], compression: {zfp: {tolerance: 0}}}",
        "above 0",
    ),
    wrong(
        "fields of two meshes", "fields: [density, velocity]}", "fields: [density, heat]}", "mesh"
    ),
    wrong(
        "axis of a slice",
        "- statistics: {fields: [heat]}",
        "- slice: {field: density, axis: w}",
        "'w'",
        schema=True,
    ),
    wrong(
        "slice outside",
        "- statistics: {fields: [heat]}",
        "- slice: {field: density, axis: z, position: 3}",
        "from 0",
        "3 is outside",
    ),
    wrong(
        "slice of a line",
        "- statistics: {fields: [heat]}",
        "- slice: {field: heat}",
        "two or three axes",
    ),
    wrong(
        "keys of a second histogram",
        "range: [1, 100]",
        "range: [1, 100], against: {feld: heat, range: auto}",
        "'feld'",
        "field, range",
    ),
    wrong("nothing to summarise", "fields: [heat]", "fields: []", "no fields"),
    wrong("the same twice", "fields: [heat]", "fields: [heat, heat]", "'heat' is listed twice"),
]
