# SPDX-License-Identifier: BSD-3-Clause
"""The pictures that the site makes from what is in the repository: figures of the concepts, drawn
here, and plots of the studies from their results. They are not in the repository; pages link to
them as if they lay beside them.
"""

import os
import runpy
from pathlib import Path

import matplotlib
from drawing import Drawing
from places import ROOT


def placement() -> Drawing:
    """The same chain at three placements over time."""
    d = Drawing(
        920,
        430,
        "One analysis at three placements",
        "Synchronous: at each publication, the simulation waits while the analysis runs. "
        "Asynchronous: the simulation copies and continues, the sidecar runs the analysis. Hybrid: "
        "the first stage runs in the simulation, the rest in the sidecar.",
    )
    rows = [
        ("synchronous", "at: simulation", [("red", 96)], 0),
        ("asynchronous", "at: sidecar", [("amber", 12)], 96),
        ("hybrid", "cut in the middle", [("red", 30), ("amber", 8)], 66),
    ]
    for number, (name, word, held, aside) in enumerate(rows):
        top = 34 + number * 130
        d.text(24, top + 14, name, size=15, bold=True)
        d.text(24, top + 34, word, size=12, kind="soft")
        d.text(196, top + 21, "simulation", "end", 12, "soft")
        d.text(196, top + 63, "sidecar" if aside else "no sidecar", "end", 12, "soft")
        _timeline(d, top, held, aside)
    d.path("M210 414 H896")
    d.text(890, 404, "time", "end", 12, "soft")
    x = 210.0
    for kind, words, wide in (
        ("blue", "steps of the solver", 150),
        ("red", "stages in the simulation", 176),
        ("amber", "copy", 66),
        ("green", "stages in the sidecar", 150),
    ):
        d.box(x, 4, 14, 14, "", kind, radius=3)
        d.text(x + 20, 16, words, size=12, kind="soft")
        x += wide
    return d


def _timeline(d: Drawing, top: float, held: list[tuple[str, float]], aside: float) -> None:
    x = 210.0
    while x < 860:
        wide = min(120.0, 890 - x)
        d.box(x, top, wide, 32, "3 steps" if wide > 60 else "", "blue", 12, 4)
        x += wide + 2
        if x > 850:
            break
        for kind, long in held:
            d.box(x, top, long, 32, "", kind, radius=4)
            x += long + 2
        if aside:
            d.path(f"M{x - 5:g} {top + 32:g} V{top + 46:g}", tip=False)
            d.box(x - 5, top + 44, min(aside, 890 - x), 30, "", "green", radius=4)


def cut() -> Drawing:
    """The cut of a chain, and the data that cross it."""
    d = Drawing(
        920,
        246,
        "The cut of a chain",
        "velocity goes through magnitude, which makes speed, and histogram, which makes a table. "
        "Cut before magnitude, three components for each cell cross; cut after it, one.",
    )
    names = [("velocity", 24, "plain"), ("magnitude", 250, "box"), ("speed", 420, "plain")]
    names += [("histogram", 610, "box"), ("table", 780, "plain")]
    for name, x, kind in names:
        d.box(x, 96, 116, 52, name, kind, 14, 26 if kind == "plain" else 6)
    for left, right in ((140, 250), (366, 420), (536, 610), (726, 780)):
        d.path(f"M{left} 122 H{right - 2}")
    for x, words, more in (
        (195, "cut here", "24 bytes a cell cross"),
        (573, "or here", "8 bytes a cell cross"),
    ):
        d.path(f"M{x} 62 V186", "cut", False, True)
        d.text(x, 50, words, "middle", 13, "warn")
        d.text(x, 206, more, "middle", 12, "soft")
    d.text(24, 28, "in the simulation", size=12, kind="soft")
    d.text(896, 28, "in the sidecar", "end", 12, "soft")
    d.path("M150 24 H780", tip=True)
    d.text(460, 236, "Results are the same; only the cost differs.", "middle", 12, "soft")
    return d


def layouts() -> Drawing:
    """The data of each rank, in each layout."""
    d = Drawing(
        920,
        452,
        "Layouts",
        "A mesh as the simulation shares it, in uneven blocks, and divided again into blocks with "
        "ghost cells, slabs, pencils, and boxes of powers of two; particles by key and by place "
        "with a halo. Colours are ranks.",
    )
    kinds = ["blue", "green", "amber", "red"]
    side = 176
    for column, (name, more) in enumerate(
        (
            ("as shared", "the simulation’s own blocks"),
            ("blocks", "one each, ghost cells if wanted"),
            ("slabs, pencils", "undivided along one axis"),
            ("powers of two", "boxes of 2ⁿ cells, many each"),
        )
    ):
        x = 32 + column * 222
        d.text(x, 30, name, size=14, bold=True)
        d.text(x, 48, more, size=12, kind="soft")
    shared = [(0, 0, 70, 60), (70, 0, 106, 60), (0, 60, 70, 50), (0, 110, 70, 66)]
    shared += [(70, 60, 60, 116), (130, 60, 46, 116)]
    for n, (x, y, w, h) in enumerate(shared):
        d.box(32 + x, 60 + y, w, h, "", kinds[(0, 1, 1, 2, 3, 2)[n]], radius=2)
    for n in range(4):
        d.box(254 + n % 2 * 88, 60 + n // 2 * 88, 88, 88, "", kinds[n], radius=2)
    d.box(254, 60, 102, 102, "", "ghost", radius=2)
    for n in range(4):
        d.box(476, 60 + n * 44, side, 44, "", kinds[n], radius=2)
    order = [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]
    for n, who in enumerate(order):
        d.box(698 + n % 4 * 44, 60 + n // 4 * 44, 44, 44, "", kinds[who], radius=2)
    d.text(32, 284, "particles by key", size=14, bold=True)
    d.text(32, 302, "always at the same owner, however they move", size=12, kind="soft")
    d.text(476, 284, "particles by place", size=14, bold=True)
    d.text(476, 302, "and copies of all within the halo", size=12, kind="soft")
    for n in range(12):
        x = 50 + n * 34
        mark = ("mark-blue", "mark-green", "mark-amber", "mark-red")[n // 3]
        d.parts.append(f'<circle class="{mark}" cx="{x}" cy="340" r="9"/>')
        d.text(x, 372, str((3, 7, 11, 2, 5, 9, 1, 6, 10, 4, 8, 12)[n]), "middle", 11, "soft")
    d.text(32, 400, "id: its owner follows from it by a rule", size=12, kind="soft")
    for n in range(4):
        d.box(476 + n * 99.5, 322, 99.5, 78, "", kinds[n], radius=2)
    d.box(476 + 99.5 - 24, 316, 99.5 + 48, 90, "", "ghost", radius=4)
    for n in range(30):
        x, y = 484 + (n * 0.618034 % 1) * 384, 330 + (n * 0.754878 % 1) * 62
        mark = ("mark-blue", "mark-green", "mark-amber", "mark-red")[min(3, int((x - 476) / 99.5))]
        d.parts.append(f'<circle class="{mark}" cx="{x:.0f}" cy="{y:.0f}" r="4"/>')
    d.text(625, 428, "data of the green rank", "middle", 12, "soft")
    d.path("M625 416 V408")
    return d


def redistribution() -> Drawing:
    """From the simulation's blocks to those of a stage."""
    d = Drawing(
        920,
        270,
        "Redistribution",
        "Three simulation ranks with uneven blocks; each sends one packed message to each of two "
        "sidecars that wants anything of it.",
    )
    d.text(60, 30, "simulation ranks", size=14, bold=True)
    d.text(700, 30, "sidecar ranks", size=14, bold=True)
    tops = [48, 120, 192]
    for n, top in enumerate(tops):
        d.box(60, top, 150, 56, f"rank {n}\n{('2 blocks', '1 block', '3 blocks')[n]}")
    for n, top in enumerate((66, 174)):
        d.box(700, top, 160, 56, f"sidecar {n}\n{('lower slab', 'upper slab')[n]}", "green")
    for n, top in enumerate(tops):
        for m, end in enumerate((94, 202)):
            if (n, m) == (0, 1):
                continue
            y = top + 28
            d.path(f"M210 {y} C400 {y} 510 {end} 698 {end}")
    d.text(455, 252, "one packed message for each pair that has anything in common", "middle", 12,
           "soft")  # fmt: skip
    d.text(455, 40, "planned once, used again until any rank’s boxes change", "middle", 12, "soft")
    return d


def backlog() -> Drawing:
    """Four policies for sidecars that need twice as long as there is."""
    d = Drawing(
        920,
        470,
        "When sidecars cannot keep up",
        "With skip, every other publication is left out. With wait, the simulation waits. "
        "With coarsen, some publications are subsamples. With spill, they wait on disk and are "
        "processed later.",
    )
    said = "Publications come twice as fast as sidecars process them, and there is room for one."
    d.text(24, 26, said, size=12, kind="soft")
    rows = {
        "skip": ("left out", [(0, 2), (2, 2), (4, 2)], {1: "red", 3: "red", 5: "red"}),
        "wait": ("the simulation waits", [(0, 2), (2, 2), (4, 2)], {}),
        "coarsen": ("a subsample", [(0, 2), (2, 1), (3, 2), (5, 1)],
                    {1: "amber", 3: "amber", 5: "amber"}),
        "spill": ("waits on disk", [(0, 2), (2, 2), (4, 2)], dict.fromkeys(range(1, 6), "amber")),
    }  # fmt: skip
    for number, (name, (word, work, marks)) in enumerate(rows.items()):
        top = 44 + number * 104
        d.text(24, top + 22, name, size=15, bold=True)
        d.text(24, top + 42, word, size=12, kind="soft")
        step, held = 100, name == "wait"
        for n in range(6 if not held else 3):
            x = 210 + n * step * (2 if held else 1)
            d.box(x, top, step - 6, 30, f"{n}", "blue", 12, 4)
            if held and n:
                d.box(x - step, top, step - 6, 30, "waits", "ghost", 12, 4)
            kind = marks.get(n, "green")
            y = top + 38
            cx = x + step - 14
            mark = {"red": "mark-red", "amber": "mark-amber"}.get(kind, "mark-green")
            d.parts.append(f'<circle class="{mark}" cx="{cx}" cy="{y}" r="5"/>')
        for n, (begin, long) in enumerate(work):
            shown = {"skip": n * 2, "wait": n, "coarsen": n, "spill": n}[name]
            kind = "amber" if name == "coarsen" and n in (1, 3) else "green"
            x = 210 + (begin + 0.95) * step
            d.box(x, top + 50, min(long * step - 6, 904 - x), 28, f"{shown}", kind, 12, 4)
    d.text(204, 460, "solver above, sidecar below; dots are publications", "start", 12, "soft")
    return d


def containment() -> Drawing:
    """Separate jobs, and the memory between them."""
    d = Drawing(
        920,
        360,
        "What the simulation and its sidecars share",
        "The simulation's job, sidecar jobs and attached jobs share nothing but a segment of "
        "node memory that the simulation created. Each reader has a slot at each channel.",
    )
    d.box(24, 54, 236, 250, "", "blue", radius=10)
    d.text(40, 44, "the simulation’s job", size=14, bold=True)
    for n in range(3):
        d.box(48, 76 + n * 74, 188, 56, f"rank {n}\nsolver, stages at: simulation")
    d.box(344, 54, 250, 250, "", "plain", radius=10)
    d.text(360, 44, "segment in /dev/shm, without a name", size=14, bold=True)
    for n in range(3):
        d.box(360, 76 + n * 74, 218, 56, f"channel {n}\nmessages in order · slots")
        d.path(f"M236 {104 + n * 74} H358")
    jobs = [("sidecars, job: separate", "primary slot", "green", 54)]
    jobs += [
        ("an attached job", "slot 1", "green", 148),
        ("sidecars that crashed", "slot 1…", "ghost", 242),
    ]
    for words, slot, kind, top in jobs:
        dead = kind == "ghost"
        below = "restarted, or not" if dead else slot
        d.box(690, top, 206, 62, f"{words}\n{below}", kind, 14, 8)
        d.path(f"M594 {top + 31} H688", "cut" if dead else "line", not dead, dead)
    d.text(641, 266, "✕", "middle", 18, "warn")
    d.text(300, 330, "writes messages, never waits for a reader", "middle", 12, "soft")
    d.text(760, 330, "read, and acknowledge", "middle", 12, "soft")
    return d


def memory() -> Drawing:
    """The ring buffer of a channel, and the budget."""
    d = Drawing(
        920,
        320,
        "Where a publication’s bytes are",
        "Messages are placed in a ring buffer in order and freed in order. Messages that sidecars "
        "have finished are free again. Buffers of the session are read in place.",
    )
    d.text(24, 36, "ring buffer of one rank: its share of sidecars: memory", size=14, bold=True)
    parts = [
        ("free", 110, "ghost"),
        ("41", 120, "green"),
        ("42", 150, "amber"),
        ("43", 130, "amber"),
    ]
    parts += [("44", 150, "blue"), ("free", 212, "ghost")]
    x = 24.0
    for words, wide, kind in parts:
        d.box(x, 52, wide, 56, words, kind, 14, 3)
        x += wide
    notes = [(194, "in progress"), (359, "published, waiting"), (579, "being copied now")]
    for at, words in notes:
        d.path(f"M{at} 128 V112")
        d.text(at, 144, words, "middle", 12, "soft")
    d.path("M880 112 C880 176 40 176 40 112", dashed=True)
    d.text(760, 172, "placed in order, freed in order", "middle", 12, "soft")
    words = "without a copy: rotating buffers (pillion_allocate, pillion_swap)"
    d.text(24, 214, words, size=14, bold=True)
    for n, (words, kind) in enumerate(
        (
            ("step 44: the solver writes", "blue"),
            ("step 43: sidecars read", "green"),
            ("free", "ghost"),
        )
    ):
        d.box(24 + n * 292, 230, 280, 54, words, kind, 14, 6)
    return d


FIGURES = {
    made.__name__: made
    for made in (placement, cut, layouts, redistribution, backlog, containment, memory)
}
# Scripts of study/, and the pictures that their function `draw` makes in a folder.
PLOTS = {
    "plots": ("scale-study-ratio", "scale-study-grid"),
    "intransit_plots": ("intransit-split", "intransit-gain"),
    "mapping_plots": ("mapping-steps", "mapping-links", "mapping-files"),
    "advise": ("advise-2048",),
}
NAMES = {f"{name}.svg" for name in (*FIGURES, *(n for made in PLOTS.values() for n in made))}


def draw_all(folder: Path) -> None:
    """Draws all of NAMES, the same bytes each time."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # the date in Matplotlib's files
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().save(folder / f"{name}.svg")
    with matplotlib.rc_context({"svg.hashsalt": "pillion"}):
        for script in PLOTS:
            runpy.run_path(str(ROOT / f"study/{script}.py"))["draw"](folder)
