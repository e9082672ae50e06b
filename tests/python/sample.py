# SPDX-License-Identifier: BSD-3-Clause
"""Makes the output folder of a run that never was: salt water, as the demo leaves it.

The curves are formulas with the shape of the real ones (a liquid's g(r), ballistic then diffusive
displacement, a damped oscillation), so that pages made of them can be judged by eye, and every
number that a page must show is known here.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

CONFIGURATION = """\
output: results
sidecars: {ranks: 1, memory: 256 MiB, when_full: skip}
analyses:
  structure:
    every: 50 steps   # <structure> & more
    stages:
      - rdf: {pairs: [[ion, O], [O, O]], at: sidecar}
"""
TIME_UNITS = "fs"


def table_text(
    *,
    title,
    analysis,
    stage,
    name,
    columns,
    attributes=(),
    step=1000,
    time=1000.0,
    skipped=0,
    coarsened=0,
    lost=0,
    run="",
) -> str:
    """A table product as the library writes it; columns are (name, units, values), and if they are
    about another column (name, units, values, role, of).
    """
    head = [
        "pillion: table 1",
        *([f'run: "{run}"'] if run else []),
        f"title: {json.dumps(title)}",
        f'analysis: "{analysis}"',
        f'stage: "{stage}"',
        f'name: "{name}"',
        'version: "0.1.0"',
        f"step: {step}",
        f"time: {time}",
        f'time_units: "{TIME_UNITS}"',
        "publications: 21",
        f"skipped: {skipped}",
        f"coarsened: {coarsened}",
        f"lost: {lost}",
        "columns:",
        *(
            f'  - {{name: "{n}", units: "{u}", type: "{np.asarray(v).dtype}"'
            + (f', role: {about[0]}, of: "{about[1]}"' if about else "")
            + "}"
            for n, u, v, *about in columns
        ),
        "attributes:" if attributes else "attributes: []",
        *(f'  - {{name: "{n}", value: {json.dumps(v)}, units: "{u}"}}' for n, v, u in attributes),
        f"configuration: {json.dumps(CONFIGURATION)}",
    ]
    rows = zip(*(column[2] for column in columns), strict=True)
    lines = [",".join(column[0] for column in columns)]
    lines += [",".join(repr(v.item()) for v in row) for row in rows]
    return "".join(f"# {line}\n" for line in head) + "".join(f"{line}\n" for line in lines)


def rdf_columns(bins=160, r_max=10.0):
    r = (np.arange(bins) + 0.5) * r_max / bins
    columns = [("r", "Å", r)]
    for name, first, height in (("ion_O", 2.4, 3.2), ("O_O", 2.8, 2.6)):
        shell = 1 / (1 + np.exp(-(r - 0.92 * first) / 0.06))
        g = shell * (1 + height * np.exp(-(((r - first) / 0.22) ** 2)))
        g += shell * 0.25 * np.cos(2 * np.pi * (r - first) / 2.9) * np.exp(-0.25 * (r - first))
        columns.append((f"g_{name}", "", g))
        columns.append((f"n_{name}", "", np.cumsum(4 * np.pi * 0.033 * r**2 * g) * r_max / bins))
        columns.append((f"count_{name}", "", (g * r**2 * 900).astype(np.int64)))
    return columns


def correlation_columns(kind, lags=41):
    lag = 50.0 * np.arange(lags)
    columns = [("lag", "fs", lag), ("lag_steps", "", 50 * np.arange(lags))]
    units = "Å^2" if kind == "msd" else "Å^2/fs^2"
    for name, diffusion in (("Na", 1.31e-5), ("Cl", 2.02e-5), ("O", 2.47e-5)):
        if kind == "msd":
            total = 6 * diffusion * (lag - 120 * (1 - np.exp(-lag / 120)))
        else:
            total = diffusion * np.exp(-lag / 180) * np.cos(lag / 110)
        columns.append((f"{kind}_{name}", units, total))
        for axis, share in zip("xyz", (0.32, 0.33, 0.35), strict=True):
            columns.append((f"{kind}_{axis}_{name}", units, share * total))
        columns.append((f"samples_{name}", "", (lags - np.arange(lags)) * 100))
        if kind == "vacf":
            columns.append((f"diffusion_{name}", "Å^2/fs", np.cumsum(total) * 50 / 3))
    return columns


def statistics_columns(rows=21):
    step = 50 * np.arange(rows)
    mean = 300 + 8 * np.exp(-step / 400.0)
    return [
        ("step", "", step),
        ("time", "fs", step.astype(float)),
        ("count", "", np.full(rows, 4500)),
        ("not_finite", "", np.zeros(rows, dtype=np.int64)),
        ("min", "K", mean - 40),
        ("max", "K", mean + 45),
        ("mean", "K", mean),
        ("standard_deviation", "K", 12 + np.sin(step / 90.0)),
        ("rms", "K", mean * 1.001),
    ]


def histogram_columns(step, bins=40):
    edges = np.linspace(-0.04, 0.04, bins + 1)
    centre = 0.5 * (edges[1:] + edges[:-1])
    width = 0.006 + 0.004 * step / 1000
    density = np.exp(-0.5 * (centre / width) ** 2) / (width * np.sqrt(2 * np.pi))
    return [
        ("lower", "Å/fs", edges[:-1]),
        ("upper", "Å/fs", edges[1:]),
        ("count", "", (density * 100).astype(np.int64)),
        ("density", "fs/Å", density),
    ]


@dataclass
class Sample:
    """An output folder being made, and the report that goes into it."""

    folder: Path
    products: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    analyses: list = field(default_factory=list)

    def product(self, *, per_step=False, **described) -> Path:
        name, step = described["name"], described.get("step", 1000)
        relative = f"{described['analysis']}/{name}{f'.{step:09}' if per_step else ''}.csv"
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table_text(**described), encoding="utf-8")
        entry = {k: described[k] for k in ("analysis", "stage", "title")} | {"path": relative}
        if self.products and Path(self.products[-1]["path"]).name.startswith(f"{name}."):
            self.products.pop()  # of a product with a file per step, the report names the last
        self.products.append(entry)
        return path

    def analysis(self, name, stages, placement, simulation, sidecar, **more) -> None:
        seconds = {
            "simulation": {"mean": simulation, "max": 1.5 * simulation},
            "sidecar": {"mean": sidecar, "max": 1.25 * sidecar},
            "stall": {"mean": more.pop("stall", 0.0), "max": more.pop("stall_max", 0.0)},
            "closing": {"mean": more.pop("closing", 0.0), "max": more.pop("closing_max", 0.0)},
            "waiting": {"mean": 0.0, "max": more.pop("waiting", 0.0)},
            "sidecar_waiting": {"mean": 0.0, "max": more.pop("sidecar_waiting", 0.0)},
            "synchronous_estimate": more.pop("synchronous", 1.1 * sidecar),
        }
        entry = {"name": name, "placement": placement, "stages": stages, "every": "50 steps"}
        entry |= {"when": None, "publications": 21, "skipped": 0, "dropped": 0, "disabled": None}
        entry |= {"coarsened": 0, "spilled": 0, "lost": 0, "thinned": 0}
        entry |= {"seconds": seconds, "bytes_moved": 7654321}
        entry |= {"lag_seconds": {"mean": 0.0123, "max": 0.0456}}
        self.analyses.append(entry | more)

    def report(self) -> dict:
        run = {"started": "2026-11-21T08:00:00Z", "seconds": 12.3, "simulation_ranks": 3}
        run |= {"sidecar_ranks": 1, "first_step": 0, "last_step": 1000, "steps": 1001}
        run |= {"publications": 21, "skipped": 0, "time": 1000.0, "time_units": TIME_UNITS}
        run |= {"restarted_from": None}
        sidecars = {"ranks": 1, "memory_bytes": 268435456, "memory_bytes_per_rank": 89478485}
        sidecars |= {"peak_bytes": 1234567, "when_full": "skip"}
        sidecars |= {"transport": "network", "job": "same", "restarts": 0}
        return {
            "pillion": "report 1",
            "version": "0.1.0",
            "run": run,
            "sidecars": sidecars,
            "analyses": self.analyses,
            "products": self.products,
            "warnings": self.warnings,
            "remarks": self.remarks,
            "configuration": CONFIGURATION,
        }

    def write(self, **changes) -> None:
        text = json.dumps(self.report() | changes)
        (self.folder / "report.json").write_text(text, encoding="utf-8")


def timeline(ranks=3, sidecars=1, steps=1000, every=50) -> dict:
    """Steps of 12 ms; a copy on each publication, and the sidecar at work after it."""
    events = []
    for pid, name, number in ((1, "simulation", ranks), (2, "sidecar", sidecars)):
        for tid in range(number):
            events.append(
                {"ph": "M", "name": "process_name", "pid": pid, "tid": tid, "args": {"name": name}}
            )
    for step in range(0, steps + 1, every):
        at = 12_000.0 * step
        for tid in range(ranks):
            copied = 900.0 + 200 * tid
            events.append(_event("publish", "publish", 1, tid, at, copied, step))
        for number, name in enumerate(("structure", "motion", "speeds")):
            begin = at + 2_000 + 95_000 * number
            for tid in range(sidecars):
                events.append(_event(name, "analysis", 2, tid, begin, 90_000.0, step))
    return {"displayTimeUnit": "ms", "traceEvents": events}


def write_timeline(folder: Path, who: str = "") -> None:
    """The timeline as a run leaves it: a file for the simulation and one for its sidecars; or that
    of an attached job.
    """
    place = folder / "timeline"
    place.mkdir(exist_ok=True)
    events = timeline()["traceEvents"]
    parts = {who: events} if who else {"simulation": [], "sidecar": []}
    for event in [] if who else events:
        parts["simulation" if event["pid"] == 1 else "sidecar"].append(event)
    for name, part in parts.items():
        trace = {"displayTimeUnit": "ms", "traceEvents": part}
        (place / f"{name}-000000.json").write_text(json.dumps(trace), encoding="utf-8")


def _event(name, category, pid, tid, ts, dur, step) -> dict:
    event = {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid}
    return event | {"ts": ts, "dur": dur, "args": {"step": step}}


def make_sample(folder: Path) -> Sample:
    """A whole run: three analyses in sidecars, one in the simulation, one by both."""
    sample = Sample(folder)
    sample.product(
        title="Radial distribution functions",
        analysis="structure",
        stage="rdf",
        name="rdf",
        columns=rdf_columns(),
        attributes=[("frames", 21.0, ""), ("density", "N/V", "")],
    )
    for kind, title in (("msd", "Mean squared displacement"), ("vacf", "Velocity autocorrelation")):
        sample.product(
            title=title,
            analysis="motion",
            stage=kind,
            name=kind,
            columns=correlation_columns(kind),
            attributes=[
                ("diffusion_Na", 1.31e-05, "Å^2/fs"),
                ("diffusion_Cl", 2.02e-05, "Å^2/fs"),
                ("diffusion_O", 2.47e-05, "Å^2/fs"),
                ("origins", "every 10, 16 kept", ""),
            ],
        )
    sample.product(
        title="Statistics of temperature",
        analysis="watch",
        stage="statistics",
        name="statistics_temperature",
        columns=statistics_columns(),
    )
    for step in range(0, 1001, 100):
        sample.product(
            per_step=True,
            title="Distribution of velocity",
            analysis="speeds",
            stage="histogram",
            name="histogram_velocity",
            columns=histogram_columns(step),
            step=step,
            time=float(step),
            attributes=[("below", 0.0, ""), ("scale", "linear", "")],
        )
    sample.analysis("structure", ["rdf"], "sidecar", 0.0412, 3.21, synchronous=1.19)
    sample.analysis("motion", ["msd", "vacf"], "sidecar", 0.0353, 1.87, skipped=2)
    sample.analysis("watch", ["statistics"], "simulation", 0.00345, 0.0, synchronous=0.00345)
    sample.analysis(
        "speeds",
        ["magnitude", "histogram"],
        "hybrid",
        0.0187,
        0.243,
        stall=0.0021,
        stall_max=0.0032,
    )
    sample.write()
    write_timeline(folder)
    return sample


ATTACHED_JOB_CONFIGURATION = """\
analyses:
  hydrogen:   # <bonds>
    every: 10 steps
    stages:
      - rdf: {pairs: [[O, H]]}
"""


def add_attached_job(
    sample: Sample, name: str = "late", started: str = "2026-11-21T08:00:00Z"
) -> dict:
    """An attached job that brings the analysis `hydrogen`; returns its report."""
    run_entry = dict(sample.analyses[0]) | {"name": "hydrogen", "publications": 33}
    run_entry |= {"seconds": sample.analyses[0]["seconds"] | {"sidecar": {"mean": 0.0, "max": 0.0}}}
    run_entry["seconds"] |= {"synchronous_estimate": 0.01}
    sample.analyses.append(run_entry)
    sample.warnings.append("one from the run")
    sample.remarks.append(f"attached job '{name}' joined after step 500")
    sample.write()
    warnings = [*sample.warnings, "one more from the attached job"]
    attached_job = Sample(sample.folder, warnings=warnings, remarks=sample.remarks)
    attached_job.product(
        title="Hydrogen bonds",
        analysis="hydrogen",
        stage="rdf",
        name="rdf",
        columns=rdf_columns(),
    )
    attached_job.analysis("hydrogen", ["rdf"], "sidecar", 99.0, 0.6, publications=31, lost=2)
    report = attached_job.report() | {"configuration": ATTACHED_JOB_CONFIGURATION}
    report["run"] |= {"started": started, "sidecar_ranks": 2}
    (sample.folder / f"report-{name}.json").write_text(json.dumps(report), encoding="utf-8")
    write_timeline(sample.folder, f"attached-{name}")
    return report
