# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes in all of a configuration but its stages; see wrong.py."""

from wrong import wrong
from wrong_stages import STAGES

NOT_YAML = [
    wrong("tab", "  grid: {", "\tgrid: {", "indented with a tab", "blanks"),
    wrong(
        "entry indented less than those beside it",
        "    every: 0.5 time\n",
        "   every: 0.5 time\n",
        "not valid YAML",
        "indented otherwise",
        line="    stages:\n      - halos",
    ),
    wrong(
        "brace not closed",
        "units: {time: s}",
        "units: {time: s",
        "not valid YAML",
        "closed",
        line="meshes:",
    ),
    wrong("colon in a text", "output: results", "output: my: results", "not valid YAML", "quotes"),
    wrong(
        "no blank after the colon",
        "output: results",
        "output:results",
        "not valid YAML",
        "a blank missing after its ':'",
        line="run: tea",
    ),
    wrong(
        "key twice",
        "    products_every: 4\n",
        "    products_every: 4\n    every: 3 steps\n",
        "key 'every' appears twice",
        "first on line 24",
        line="    every: 3",
    ),
    wrong(
        "field twice",
        "  heat: {",
        "  density: {mesh: line, type: int32}\n  heat: {",
        "key 'density' appears twice",
        "first on line 13",
    ),
]

NAMES = (
    [
        wrong(
            f"analysis called {name[:20]}",
            "  halos:\n",
            f"  {name}:\n",
            "cannot name an analysis",
            *words,
            line=f"  {name}:",
            schema=True,
        )
        for name, *words in [
            ("report.json", "'report.json'", "a run writes a file of that name"),
            ("progress.json", "choose another"),
            ("timeline", "choose another"),
            ("compare", "choose another"),
            ("progress-late.json", "choose another"),
            ("x" * 300, "300 bytes are too many", "x…'"),
        ]
    ]
    + [
        wrong(
            f"analysis called {name}",
            "  halos:\n",
            f"  {name}:\n",
            "the key contains",
            *words,
            line=f"  {name}:",
            schema=True,
        )
        for name, *words in [
            ('"two\\nlines"', "the end of a line"),
            ('"nul\\0"', "U+0000"),
            ('"bell\\x07"', "U+0007"),
            ('"next\\Nline"', "remove it"),
        ]
    ]
    + [
        wrong(
            "output with NUL",
            "output: results",
            'output: "a\\0b"',
            "the value contains the character U+0000; remove it",
            line='output: "a',
        ),
        wrong(
            "policy for results",
            "output: results",
            "output: {path: results, if_exists: overwrit}",
            "did you mean 'overwrite'?",
            line="output:",
            schema=True,
        ),
        wrong(
            "key of the output",
            "output: results",
            "output: {path: results, exists: refuse}",
            "'exists'",
            line="output:",
            schema=True,
        ),
    ]
)

TOP = [
    wrong("unknown key", "run: tea", "ruin: tea", "'ruin'", "did you mean 'run'?", schema=True),
    wrong(
        "misspelt section",
        "sidecars: {",
        "sidecar: {",
        "'sidecar'",
        "did you mean 'sidecars'?",
        schema=True,
    ),
    wrong("name of a run", "run: tea", "run: tea time", "'tea time'", "letters", schema=True),
    wrong("units of all", "units: {time: s}", "units: s", "a map", "'s'", schema=True),
    wrong(
        "units of something else",
        "units: {time: s}",
        "units: {times: s}",
        "'times'",
        "did you mean 'time'?",
        schema=True,
    ),
    wrong(
        "parameters as a list", "{n: 16, bins: 20}", "[16, 20]", "map", line="[16, 20]", schema=True
    ),
    wrong(
        "parameter without a value",
        "bins: $bins}",
        "bins: $bin}",
        "'$bin' has no value",
        "--set",
        "did you mean 'bins'?",
    ),
    wrong("brace of a parameter", "bins: $bins}", "bins: '${bins'}", "'${' without '}'"),
    wrong("lonely dollar", "output: results", "output: results$", "'$$'"),
    wrong(
        "--set of something else",
        "output: results",
        "output: results",
        "'--set bin=3'",
        "did you mean 'bins'?",
        arguments=("--set", "bin=3"),
        line="-",
    ),
    wrong("output is a file", "output: results", "output: file/here", "is a file", "file"),
    wrong(
        "home folder", "output: results", "output: ~/results", "expanded by shells", "'~/results'"
    ),
    wrong("curly quotes", "output: results", "output: “results”", "typographic quote"),
    wrong(
        "no such checkpoint",
        "run: tea",
        "restart: none/such",
        "no such folder",
        "none/such",
    ),
    wrong("folder without a checkpoint", "run: tea", "restart: .", "no checkpoint"),
]

SIDECARS = [
    wrong(
        "bytes without a unit that is known",
        "memory: 1 MiB",
        "memory: 1 MBytes",
        "'1 MBytes'",
        "512 MiB",
        schema=True,
    ),
    wrong("megabytes left out", "memory: 1 MiB", "memory: 64", "is 64 bytes", "'64 MiB'"),
    wrong("bytes below none", "memory: 1 MiB", "memory: -1 MiB", "'-1 MiB'", schema=True),
    wrong("count below none", "ranks: 2", "ranks: -2", "-2", "0 means none", schema=True),
    wrong("count in words", "ranks: 2", "ranks: two", "an integer", "'two'", schema=True),
    wrong(
        "policy",
        "when_full: skip",
        "when_full: skipp",
        "'skipp'",
        "did you mean 'skip'?",
        schema=True,
    ),
    wrong(
        "duration",
        "when_full: skip",
        "when_full: wait, deadline: 5 minutes",
        "'5 minutes'",
        "30 s",
        schema=True,
    ),
    wrong("two kinds", "ranks: 2", "ranks: 2, per_node: 1", "exclude each other", schema=True),
    wrong(
        "separate, and ranks",
        "ranks: 2",
        "ranks: 2, job: separate",
        "exclude each other",
        "per_node",
        schema=True,
    ),
    wrong(
        "mapping by its old key",
        "ranks: 2",
        "ranks: 2, spread: numa",
        "unknown key 'spread'",
        "it is called 'mapping'",
        schema=True,
    ),
    wrong(
        "mapping",
        "ranks: 2",
        "ranks: 2, mapping: stripes",
        "unknown mapping 'stripes'",
        "did you mean 'striped'?",
        schema=True,
    ),
    wrong(
        "a mapping of sidecars that come from elsewhere",
        "ranks: 2",
        "job: separate, mapping: numa",
        "'mapping' chooses sidecars among the ranks of the job",
        "leave out one",
        schema=True,
    ),
    wrong("mesh of one length", "ranks: 2", "ranks: 2, mesh: [8]", "such as [8, 8]", schema=True),
    wrong("mesh of none", "ranks: 2", "ranks: 2, mesh: [8, 0]", "cannot have 0", schema=True),
    wrong("nodes", "ranks: 2", "nodes: 2", "reserved", "per_node", schema=True),
    wrong(
        "restarts of sidecars in the same job",
        "ranks: 2",
        "ranks: 2, restart: 3",
        "'restart: 3'",
        "job: separate",
        schema=True,
    ),
    wrong("spilling over the network", "when_full: skip", "when_full: spill", "per_node"),
    wrong("no room to receive", "ranks: 2", "ranks: 2, receive: 0 B", "leaves no room"),
    wrong(
        "receiving what is in node memory",
        "ranks: 2",
        "per_node: 1, receive: 1 MiB",
        "reach through the network",
        schema=True,
    ),
    wrong(
        "too little room to receive", "ranks: 2", "ranks: 2, receive: 1 KiB", "1.0 KiB", "at least"
    ),
    wrong(
        "a place to spill without spilling",
        "when_full: skip",
        "when_full: skip, spill: {limit: 1 GiB}",
        "when_full: spill",
        schema=True,
    ),
    wrong(
        "too few ranks",
        "ranks: 2",
        "ranks: 4",
        "4 sidecar ranks of 4 ranks",
        "start more",
        arguments=("--ranks", "4"),
    ),
    wrong(
        "too few ranks on a node",
        "ranks: 2",
        "per_node: 3",
        "3 sidecars",
        "node",
        arguments=("--ranks", "8", "--nodes", "4"),
    ),
    wrong(
        "other ranks started as sidecars",
        "ranks: 2",
        "ranks: 3",
        "2 ranks were started as sidecars",
        arguments=("--ranks", "8", "--sidecars", "2"),
        line="output:",
    ),
    wrong(
        "too little memory",
        "memory: 1 MiB",
        "memory: 30 kB",
        "takes 88.1 KiB",
        "raise that to 89 KiB",
        arguments=("--ranks", "4", "--nodes", "2"),
    ),
]

CATALOGUE = [
    wrong(
        "kind of mesh",
        "kind: particles",
        "kind: particle",
        "did you mean 'particles'?",
        schema=True,
    ),
    wrong(
        "kind of mesh by another name",
        "kind: particles",
        "kind: structured",
        "it is called 'uniform', 'rectilinear' or 'curvilinear' here",
        schema=True,
    ),
    wrong(
        "mesh with a slash",
        "  line: {",
        "  a/b: {kind: particles}\n  line: {",
        "cannot name a mesh",
        "leave out any '/'",
    ),
    wrong(
        "field of blanks",
        "  heat: {",
        "  'heat ': {mesh: line, type: int32}\n  heat: {",
        "cannot name a field",
        "blanks at its ends",
    ),
    wrong(
        "four dimensions",
        "kind: particles",
        "kind: particles\n    dimensions: 4",
        "2 or 3 dimensions",
        "found 4",
        line="dimensions: 4",
        schema=True,
    ),
    wrong(
        "spectral without an order",
        "kind: particles",
        "kind: spectral",
        "order",
        line="  atoms:",
        schema=True,
    ),
    wrong(
        "rectilinear with a length",
        "line: {kind: uniform, cells: [64], periodic: [false]}",
        "line: {kind: rectilinear, coordinates: [[0, 1, 2.5, 7]], length: [7]}",
        "length",
        schema=True,
    ),
    wrong(
        "coordinates that do not increase",
        "line: {kind: uniform, cells: [64], periodic: [false]}",
        "line: {kind: rectilinear, coordinates: [[0, 2, 1, 7]], periodic: false}",
        "number 2 is 1 after 2",
    ),
    wrong(
        "sphere beyond its poles",
        "line: {kind: uniform, cells: [64], periodic: [false]}",
        "line: {kind: uniform, cells: [4, 2], length: [360, 200], metric: spherical, radius: 2}",
        "latitude goes from 0 to 200",
    ),
    wrong(
        "mesh without a kind",
        "line: {kind: uniform, cells",
        "line: {cells",
        "lacks 'kind'",
        schema=True,
    ),
    wrong("no cells", "cells: [64]", "cells: [0]", "positive", "0", schema=True),
    wrong(
        "cells that are not whole",
        "cells: [64]",
        "cells: [6.5]",
        "an integer",
        "'6.5'",
        schema=True,
    ),
    wrong("cells as a number", "cells: [64]", "cells: 64", "a list of 1 to 3", "64", schema=True),
    wrong("cells along four axes", "cells: [64]", "cells: [4, 4, 4, 4]", "1 to 3", schema=True),
    wrong(
        "mesh without cells",
        "line: {kind: uniform, cells: [64], periodic",
        "line: {kind: uniform, periodic",
        "lacks 'cells'",
        schema=True,
    ),
    wrong(
        "cells that nobody has",
        "cells: [64]",
        "cells: [6400000000000000]",
        "6400000000000000",
        "more than 2^50",
    ),
    wrong(
        "periodic along other axes",
        "periodic: [false]",
        "periodic: [false, true]",
        "list of 1 values",
        "[false, true]",
    ),
    wrong("length of nothing", "length: [1, 1, 1]", "length: [1, 1, 0]", "above 0", schema=True),
    wrong("length of a cube", "length: [1, 1, 1]", "length: 1", "a list of 3", schema=True),
    wrong("maybe periodic", "periodic: true", "periodic: maybe", "true or false", schema=True),
    wrong(
        "cells of particles",
        "    units: Å\n",
        "    units: Å\n    cells: [4]\n",
        "unknown key 'cells'",
        line="    cells: [4]",
        schema=True,
    ),
    wrong(
        "field of no mesh",
        "heat: {mesh: line",
        "heat: {mesh: lines",
        "unknown mesh 'lines'",
        "'line'",
    ),
    wrong("field without a mesh", "heat: {mesh: line, ", "heat: {", "lacks 'mesh'", schema=True),
    wrong("type of C", "type: float32, units", "type: float, units", "'float32'", schema=True),
    wrong(
        "no components", "components: 3, units", "components: 0, units", "1 to 1000", schema=True
    ),
    wrong(
        "key of a field",
        "components: 3, units",
        "component: 3, units",
        "did you mean 'components'?",
        schema=True,
    ),
    wrong("fields as a list", "  heat: {", "  - heat: {", "not valid YAML"),
]

ANALYSES = [
    wrong(
        "name of a folder", "  spectrum:", "  a/spectrum:", "'a/spectrum'", "folder", schema=True
    ),
    wrong("key", "    when: max", "    whne: max", "'whne'", "did you mean 'when'?", schema=True),
    wrong(
        "interval of none", "every: 5 steps", "every: 0 steps", "positive", "0 steps", schema=True
    ),
    wrong("interval in seconds", "every: 5 steps", "every: 5 s", "'5 s'", "0.5 time", schema=True),
    wrong("interval in words", "every: 5 steps", "every: often", "'often'", schema=True),
    wrong("interval that is not whole", "every: 5 steps", "every: 2.5 steps", "whole", schema=True),
    wrong("products below none", "products_every: 4", "products_every: -4", "-4", schema=True),
    wrong(
        "condition on no field",
        "max(density)",
        "max(desity)",
        "did you mean 'density'?",
        line="    when:",
    ),
    wrong(
        "function", "max(density)", "maximum(density)", "'maximum' is not known", line="    when:"
    ),
    wrong(
        "condition on a vector", "max(density)", "max(velocity)", "norm(velocity)", line="    when:"
    ),
    wrong("parenthesis", "max(density)", "max(density", "expected ')'", line="    when:"),
    wrong("comparison", "step > 100", "step => 100", "left over", "write '>='", line="    when:"),
    wrong("assignment", "step > 100", "step = 100", "'==' compares", line="    when:"),
    wrong("two comparisons", "step > 100", "9 < step < 100", "with 'and'", line="    when:"),
    wrong("sign of a book", "step > 100", "step ≥ 100", "write '>='", line="    when:"),
    wrong("no comparison", "max(density) > 1e3 and step > 100", "max(density)", "compares nothing"),
    wrong(
        "number",
        "max(density) > 1e3 and step > 100",
        "5",
        "compares nothing",
        line="    when: 5",
    ),
    wrong("division", "max(density) > 1e3 and step > 100", "1/0", "compares nothing"),
    wrong("no field", "max(density)", "max()", "expected a field before ')", line="    when:"),
    wrong("open quote", "max(density)", "max('density)", "has no end", line="    when:"),
    wrong(
        "condition on a field that a stage makes",
        "    every: 0.5 time\n",
        "    every: 0.5 time\n    when: max(speed) > 3\n",
        "field 'speed' is not known here",
        "'magnitude' on line 37 of analysis 'speed'",
        "fields of the program alone",
        line="    when: max(speed)",
    ),
    wrong(
        "stage before the one that makes its field",
        "      - magnitude: {field: velocity, into: speed, at: simulation}\n"
        "      - statistics: {fields: [speed]}\n",
        "      - statistics: {fields: [speed], at: simulation}\n"
        "      - magnitude: {field: velocity, into: speed, at: simulation}\n",
        "field 'speed' is not known here",
        "'magnitude' on line 37 of analysis 'speed'",
        "before this one",
    ),
    wrong(
        "field that another analysis makes",
        "      - statistics: {fields: [heat]}\n",
        "      - statistics: {fields: [speed], at: sidecar}\n",
        "field 'speed' is not known here",
        "'magnitude' on line 36 of analysis 'speed'",
    ),
    wrong(
        "no-break space in a schedule",
        "every: 5 steps",
        "every: 5\u00a0steps",
        "no-break space",
    ),
    wrong(
        "no stages",
        "  structure:\n    stages:",
        "  structure:\n    stage:",
        "lacks 'stages'",
        "'stage'",
        schema=True,
    ),
    wrong(
        "a place that there is not",
        "at: sidecar}",
        "at: atuo}",
        "unknown place 'atuo'",
        "did you mean 'auto'?",
        schema=True,
    ),
    wrong(
        "a stage that may move behind one that may not",
        "statistics: {fields: [heat]}",
        "statistics: {fields: [heat], at: auto}",
        "'at: auto' after a stage with 'at: sidecar'",
        "so set it for all last stages or for none",
    ),
    wrong(
        "a stage that may not move behind one that may",
        "write_idx: {fields: [density, velocity]}",
        "write_idx: {fields: [density, velocity], at: auto}",
        "'at: sidecar' after a stage with 'at: auto'",
        "move together",
        line="      - statistics: {fields: [heat]}",
    ),
    wrong(
        "stages as a map",
        "      - rdf: {",
        "      rdf: {",
        "list of at least one stage",
        line="    stages:\n      rdf",
        schema=True,
    ),
    wrong(
        "stage as a word",
        "- magnitude: {field: velocity, into: speed, at: simulation}",
        "- magnitude",
        "a stage is written",
        schema=True,
    ),
    wrong(
        "parameters beside the stage",
        "- rdf: {species",
        "- rdf:\n        species: {species",
        "is written",
        "indented further",
        schema=True,
    ),
    wrong(
        "parameters of a stage as a list",
        "statistics: {fields: [heat]}",
        "statistics: [heat]",
        "must be a map",
        "[heat]",
        schema=True,
    ),
]

ALL = [*NOT_YAML, *NAMES, *TOP, *SIDECARS, *CATALOGUE, *ANALYSES, *STAGES]
