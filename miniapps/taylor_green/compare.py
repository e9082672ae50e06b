# SPDX-License-Identifier: BSD-3-Clause
"""Sets runs of the demo beside each other that differ in where their stages ran: a film of the
pictures, and a page with what each task cost and made.

    compare.py FOLDER

FOLDER has a folder for each mode, with the run's products in its `results`.
"""

import sys
from base64 import b64encode
from html import escape
from pathlib import Path

from PIL import Image
from pillion import read_table, units
from pillion.report import page
from pillion.report.run import Run, read_run

MODES = {
    "synchronous": "all stages in the simulation, on all ranks",
    "asynchronous": "all stages in the sidecar",
    "hybrid": "the first stages in the simulation, the second in the sidecar",
}
TASKS = {
    "compression": "truncate, then encode",
    "pictures": "magnitude, then image",
    "averages": "average and autocorrelation, then uncertainty",
}
SHOWN = ["samples", "sigma_median_x", "interval_median_x", "integral_time_median_x"]
SHOWN += ["fitted_x", "unresolved_x"]
FRAME = 120  # milliseconds


def main() -> None:
    folder = Path(sys.argv[1])
    runs = {mode: read_run(folder / mode / "results") for mode in MODES}
    same = expect_same_pictures(folder)
    film = make_film(folder)
    sections = [
        film_section(film, same),
        times_section(runs),
        costs_section(runs),
        compression_section(folder),
        averages_section(folder),
    ]
    to = folder / "modes.html"
    to.write_text(page.document("A vortex in three modes", sections), encoding="utf-8")
    print(f"the film: {film}\nthe modes beside each other: {to}")


def pictures(folder: Path, mode: str) -> list[Path]:
    return sorted((folder / mode / "results/pictures").glob("film.*.png"))


def expect_same_pictures(folder: Path) -> str:
    """Says whether they are. Where as many ranks simulate, they must be, for what is drawn does not
    depend on where it is drawn; the flow itself may differ by roundoff on more ranks.
    """
    first, second, third = ([pixels(p) for p in pictures(folder, mode)] for mode in MODES)
    if not first or second != third:
        raise SystemExit(f"compare: the pictures in {folder} depend on where they were drawn")
    differ = sum(a != b for a, b in zip(first, third, strict=True))
    if differ == 0:
        return "The same in all three modes, to the last bit."
    return f"The same in all modes, but for {differ} of {len(first)} on more simulation ranks."


def pixels(path: Path) -> bytes:
    return Image.open(path).convert("RGB").tobytes()


def make_film(folder: Path) -> Path:
    first, *rest = (Image.open(path).convert("RGB") for path in pictures(folder, "hybrid"))
    path = folder / "film.webp"
    first.save(path, save_all=True, append_images=rest, duration=FRAME, loop=0, quality=80)
    return path


def film_section(film: Path, same: str) -> str:
    content = b64encode(film.read_bytes()).decode("ascii")
    text = f"Where the speed is 0.4, coloured by pressure. {same}"
    source = f"data:image/webp;base64,{content}"
    picture = f'<img alt="the vortex decays" style="max-width: 100%" src="{source}">'
    return page.section("The film", f'<p class="note">{text}</p>\n<p>{picture}</p>')


def times_section(runs: dict[str, Run]) -> str:
    shortest = min(run.seconds for run in runs.values())
    rows = []
    for mode, run in runs.items():
        ranks = f"{run.facts['simulation_ranks']} + {run.facts['sidecar_ranks']}"
        share = f"{run.seconds / shortest:.2f}"
        rows.append([f"{mode}<br><small>{MODES[mode]}</small>", ranks, units.seconds(run.seconds)])
        rows[-1].append(share)
    heads = ["mode", "ranks: simulation + sidecar", "whole run", "of the shortest"]
    body = f'{page.table(heads, rows, "numbers")}\n<p class="note">{pictures_told(runs)}</p>'
    return page.section("How long it took", body)


def pictures_told(runs: dict[str, Run]) -> str:
    """Why a sidecar pays off, or not: what a picture takes on all ranks, in the sidecar, and what
    the run would have waited for if it drew them itself.
    """
    here, there = (
        next(a for a in runs[mode].analyses if a.name == "pictures")
        for mode in ("synchronous", "asynchronous")
    )
    ranks = runs["synchronous"].facts["simulation_ranks"]
    text = (
        f"A picture took {units.seconds(here.simulation.max / here.publications)} on {ranks} "
        f"ranks of the simulation, which waited for it, and "
        f"{units.seconds(there.sidecar.max / there.publications)} in the sidecar, meanwhile. "
    )
    if there.synchronous is not None:
        share = units.percent(there.synchronous, runs["asynchronous"].seconds)
        text += f"Run synchronously, pictures would have taken {share} of the asynchronous run. "
    return text + "A sidecar pays off where that is more than the core that it takes."


def costs_section(runs: dict[str, Run]) -> str:
    rows = []
    for task, stages in TASKS.items():
        for mode, run in runs.items():
            (found,) = (a for a in run.analyses if a.name == task)
            head = f"{task}, {mode}" + (f"<br><small>{stages}</small>" if mode == "hybrid" else "")
            spans = [found.simulation.max, found.sidecar.max, found.stall.max, found.lag.mean]
            cells = [units.seconds(s) if s else "0" for s in spans]
            rows.append([head, *cells, units.size(found.bytes_moved)])
    heads = ["", "in the simulation", "in the sidecar", "waiting", "lag", "moved"]
    return page.section("What each task cost", page.table(heads, rows, "numbers"))


def compression_section(folder: Path) -> str:
    rows = []
    for mode in MODES:
        table = read_table(folder / mode / "results/compression/encode_box.csv")
        ratio, error, bound = (
            table.columns[f"{name}_velocity"].values for name in ("ratio", "error", "bound")
        )
        worst = max(e / b for e, b in zip(error, bound, strict=True))
        ratios = f"{min(ratio):.1f} to {max(ratio):.1f}"
        rows.append([escape(mode), str(len(ratio)), ratios, f"{worst:.3f}"])
    heads = ["", "checkpoints", "times smaller", "greatest error, of what is allowed"]
    return page.section("Compression", page.table(heads, rows, "numbers"))


def averages_section(folder: Path) -> str:
    rows = []
    for mode in MODES:
        path = folder / mode / "results/averages/uncertainty_element_velocity.csv"
        if not path.exists():
            text = "The run was too short: averages are looked at every 50 steps."
            return page.section("Uncertainty of averages", f'<p class="note">{text}</p>')
        table = read_table(path)
        rows.append([mode, *(f"{table.columns[name].values[-1]:.6g}" for name in SHOWN)])
    heads = [escape(name.replace("_", " ")) for name in SHOWN]
    text = "At the end of the run. A decaying vortex is not stationary: here it shows the cost."
    body = f'<p class="note">{text}</p>\n{page.table(["", *heads], rows, "numbers")}'
    return page.section("Uncertainty of averages", body)


if __name__ == "__main__":
    main()
