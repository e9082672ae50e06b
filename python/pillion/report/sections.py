# SPDX-License-Identifier: BSD-3-Clause
"""The report's sections on the run itself: its summary, the costs, the timeline, its configuration,
and its attached jobs. Costs are those of every analysis, in total and compared with running it in
the simulation. The timeline shows the work of every rank over time.

An attached job is a job of sidecars that joined the run and brought analyses of its own. Results
and costs of these stand with those of the run, and its section shows its request and its time of
work.
"""

from collections.abc import Callable, Sequence
from html import escape
from math import isnan

from pillion import units
from pillion.errors import Error
from pillion.report.draw import draw_timeline
from pillion.report.page import exact, section, table
from pillion.report.run import Analysis, Run, Span
from pillion.report.timeline import FOLDER, close_up, merge, read_timeline, whole

MOST_STRIPS = 64
Cell = Callable[[Analysis], str]


def summary_section(run: Run) -> str:
    facts = run.facts
    skipped = int(facts["skipped"])
    cards = [
        ("run time", units.seconds(run.seconds), f"started {escape(str(facts['started']))}"),
        _steps(run),
        (
            "ranks",
            " + ".join(str(facts[f"{side}_ranks"]) for side in _sides(run)),
            _kinds_of_ranks(run),
        ),
        (
            "publications",
            units.count(int(facts["publications"])),
            f"{units.count(skipped)} skipped" if skipped else "none skipped",
        ),
    ]
    shown = "\n".join(
        f'<div class="card"><div class="name">{name}</div><div class="value">{value}</div>'
        f'<div class="note">{note}</div></div>'
        for name, value, note in cards
    )
    origin = facts["restarted_from"]
    resumed = (
        f"<p>Resumed from <code>{escape(str(origin))}</code>. Seconds, bytes and the timeline on "
        "this page count from there; steps, publications and products are those of the whole "
        "run.</p>"
        if origin
        else ""
    )
    return (
        f"<header>\n<h1>{escape(_name(run))}</h1>\n{_provenance(run)}</header>\n"
        f'<div class="cards">\n{shown}\n</div>\n{resumed}'
    )


def _name(run: Run) -> str:
    name = run.facts.get("name")
    return f"Pillion run report: {name}" if name else "Pillion run report"


def _provenance(run: Run) -> str:
    """The folder, the host, the version and the command."""
    places = [str(run.folder.resolve())]
    if host := run.facts.get("host"):
        places.append(f"on {host}")
    if run.version:
        places.append(f"Pillion {run.version}")
    lines = [escape(" · ".join(places))]
    if command := run.facts.get("command"):
        lines.append(f"<code>{escape(str(command))}</code>")
    return "".join(f'<p class="note">{line}</p>\n' for line in lines)


def _steps(run: Run) -> tuple[str, str, str]:
    facts = run.facts
    if facts["time"] is None:
        return "last step", "none", "known so far"
    time = f"time {units.number(float(facts['time']), 6)} {units.as_html(str(facts['time_units']))}"
    if not run.is_finished:
        return "last step", units.count(int(facts["last_step"])), f"at {time}"
    note = f"from {facts['first_step']} to {facts['last_step']}, to {time}"
    return "steps", units.count(int(facts["steps"])), note


def _sides(run: Run) -> list[str]:
    return ["simulation", "sidecar"] if int(run.facts["sidecar_ranks"]) else ["simulation"]


def _kinds_of_ranks(run: Run) -> str:
    facts = run.sidecars
    if not int(run.facts["sidecar_ranks"]):
        had = any(analysis.placement != "simulation" for analysis in run.analyses)
        return f"simulation, {'sidecars unknown' if had else 'without sidecars'}"
    words = ["simulation + sidecar"]
    if facts["job"] == "separate":
        words.append("in a job of their own")
    restarts = int(facts["restarts"])
    if restarts:
        words.append(f"restarted {units.count(restarts)} {'time' if restarts == 1 else 'times'}")
    return ", ".join(words)


def configuration_section(run: Run) -> str:
    if not run.configuration:
        return ""  # no product of an unfinished run tells it
    text = escape(run.configuration.rstrip())
    return section("Configuration", f"<pre>{text}</pre>")


def cost_section(run: Run) -> str:
    heads = ["", *(escape(analysis.name) for analysis in run.analyses)]
    rows = [
        [f'{name}<span class="note">{note}</span>', *(cell(a) for a in run.analyses)]
        for name, note, cell in _lines(run)
    ]
    return section(
        "What it cost", f"{_verdict(run)}\n{table(heads, rows, 'costs')}\n{_memory(run)}"
    )


def _lines(run: Run) -> list[tuple[str, str, Cell]]:
    """Rows of the table: name, what it means, and how to get it."""
    return [
        ("placement", "", _placement),
        *([("stages", "", _stages)] if any(a.stages for a in run.analyses) else []),
        ("due every", "", _schedule),
        ("publications", "", lambda a: units.count(a.publications)),
        ("skipped", "due, but the sidecars were behind", lambda a: units.count(a.skipped)),
        *_rare_lines(run),
        ("time in the simulation", "mean (max) over its ranks", lambda a: _seconds(a.simulation)),
        *_waiting_lines(run, "waiting", "stages in the simulation, for its slower ranks"),
        ("stall", "the simulation waiting for sidecars", lambda a: _seconds(a.stall)),
        *_closing_lines(run),
        ("share of run time", "of all these together", lambda a: _share(a, run)),
        ("if run synchronously", "estimate, and its share", lambda a: _synchronous(a, run)),
        ("time in the sidecars", "mean (max) over their ranks", lambda a: _seconds(a.sidecar)),
        *_waiting_lines(run, "sidecar_waiting", "stages in the sidecars, for slower ones"),
        ("lag", "from a step to its result, mean (max)", lambda a: _seconds(a.lag)),
        ("data moved", "from simulation to sidecars", lambda a: _bytes(a.bytes_moved)),
    ]


def _rare_lines(run: Run) -> list[tuple[str, str, Cell]]:
    """Lines for rare events of publications that have happened."""
    lines: list[tuple[str, str, Cell]] = [
        ("coarsened", "a subsample was published, for lack of room", _number("coarsened")),
        ("spilled", "went to disk first, for lack of room", _number("spilled")),
        ("dropped", "published by some ranks, but not by all", _number("dropped")),
        ("lost", "published, but the sidecars died on it", _number("lost")),
        ("thinned", "attached jobs had used up their share", _number("thinned")),
    ]
    return [line for line in lines if any(getattr(a, line[0]) for a in run.analyses)]


def _waiting_lines(run: Run, name: str, who: str) -> list[tuple[str, str, Cell]]:
    """The line for waiting, if there was any; the time of computing is without it."""
    if not any(getattr(a, name).max for a in run.analyses):
        return []
    return [("waiting for others", who, lambda a: _seconds(getattr(a, name)))]


def _closing_lines(run: Run) -> list[tuple[str, str, Cell]]:
    """The wait after the last step, if there was any."""
    if not any(analysis.closing.max > 0 for analysis in run.analyses):
        return []
    return [
        ("stall at the end", "the same, when the session closed", lambda a: _seconds(a.closing))
    ]


def _number(name: str) -> Cell:
    return lambda analysis: units.count(getattr(analysis, name))


def _placement(analysis: Analysis) -> str:
    attached_job = (
        f", brought by attached job {analysis.attached_job}" if analysis.attached_job else ""
    )
    placement = analysis.placement
    if placement == "auto":
        placement += (
            f": {units.count(analysis.here)} publications in the simulation, "
            f"{units.count(analysis.there)} in the sidecars, {units.count(analysis.moves)} moves"
        )
    return escape(placement + attached_job)


def _stages(analysis: Analysis) -> str:
    return escape(" → ".join(analysis.stages))


def _schedule(analysis: Analysis) -> str:
    condition = f", when {analysis.when}" if analysis.when else ""
    return escape(analysis.every + condition)


def _seconds(span: Span) -> str:
    if span.max == 0 or isnan(span.max):
        return "unknown" if isnan(span.max) else "0"
    exactly = f"mean {span.mean}, max {span.max}"
    return exact(f"{units.seconds(span.mean)} ({units.seconds(span.max)})", exactly, "s")


def _share(analysis: Analysis, run: Run) -> str:
    return f"<strong>{units.percent(analysis.cost, run.seconds)}</strong>"


def _synchronous(analysis: Analysis, run: Run) -> str:
    if analysis.synchronous is None:
        return "unknown"
    share = units.percent(analysis.synchronous, run.seconds)
    return exact(f"{units.seconds(analysis.synchronous)} ({share})", analysis.synchronous, "s")


def _bytes(amount: int) -> str:
    return exact(units.size(amount), amount, "bytes")


def _verdict(run: Run) -> str:
    if not run.analyses or run.seconds <= 0:
        return ""
    spent = sum(a.cost for a in run.analyses)
    closing = sum(a.closing.mean for a in run.analyses)
    text = (
        f"All analyses together took <strong>{units.percent(spent, run.seconds) or '0 %'}</strong> "
        f"of the simulation’s time{_closing(closing, run)}.{_set_aside(spent, run)}"
    )
    estimates = [a.synchronous for a in run.analyses if a.synchronous is not None]
    if len(estimates) == len(run.analyses) and any(
        a.placement != "simulation" for a in run.analyses
    ):
        text += (
            " Run synchronously, in the simulation’s own ranks, they would have taken an estimated "
            f"{units.percent(sum(estimates), run.seconds) or '0 %'}."
        )
    return f"<p>{text}</p>"


def _closing(seconds: float, run: Run) -> str:
    """The wait for sidecars at the end, if it counts."""
    if seconds < 0.01 * run.seconds:
        return ""
    return (
        f", including {units.seconds(seconds)} ({units.percent(seconds, run.seconds)}) of waiting "
        "for sidecars at the end"
    )


def _set_aside(spent: float, run: Run) -> str:
    """The cost of ranks that do nothing but run sidecars."""
    sidecars, simulation = (int(run.facts[f"{side}_ranks"]) for side in ("sidecar", "simulation"))
    if sidecars == 0 or simulation == 0:
        return ""
    ranks = sidecars + simulation
    share = (spent * simulation / run.seconds + sidecars) / ranks
    many = f"{sidecars} of its {ranks} ranks" if sidecars > 1 else f"One of its {ranks} ranks"
    return (
        f" {many} {'were' if sidecars > 1 else 'was'} set aside for sidecars; with "
        f"{'these' if sidecars > 1 else 'this'}, analyses took {units.percent(share, 1.0)} of the "
        "time of all ranks."
    )


def _memory(run: Run) -> str:
    """Memory for publications, if anything was published."""
    facts = run.sidecars
    if not run.is_finished or (not facts["ranks"] and not facts["peak_bytes"]):
        return ""
    peak, share = int(facts["peak_bytes"]), int(facts["memory_bytes_per_rank"])
    part = units.percent(peak, share)
    of_share = f" ({part})" if part else ""
    return (
        f'<p class="note">Publications went through the {_way(run)}. In flight they took at most '
        f"{_bytes(peak)} of a simulation rank’s share of {_bytes(share)}{of_share}; the budget is "
        f"{_bytes(int(facts['memory_bytes']))} per node, and when it is full: "
        f"{escape(str(facts['when_full']))}.</p>"
    )


def _way(run: Run) -> str:
    return "memory of the nodes" if run.sidecars["transport"] == "node" else "network"


def timeline_section(run: Run) -> tuple[str, list[str]]:
    """Pictures of the timeline, and what was wrong with it."""
    figures, problems = timeline_figures(run, "")
    note = (
        '<p class="note">What every rank did for Pillion, and which share of the time; in between, '
        "simulation ranks simulate and sidecars wait. Where there is too much to tell apart, the "
        "height of the columns is that share. The file timeline/all.json opens in trace viewers "
        "such as Perfetto.</p>"
    )
    return (section("Timeline", f"{figures}\n{note}") if figures else ""), problems


def timeline_figures(run: Run, prefix: str) -> tuple[str, list[str]]:
    """The whole timeline and a part of it from close by; ids in them begin with `prefix`."""
    try:
        if not run.is_finished and not (run.folder / FOLDER).is_dir():
            return "", []  # ranks write it when they close
        files = run.timeline_files()
        strips = read_timeline(files.paths)
        if not run.name:
            merge(files.paths, run.folder / FOLDER / "all.json")
    except Error as error:
        return "", [str(error)]
    drawn = strips[:: -(-len(strips) // MOST_STRIPS) or 1]
    seconds = run.seconds if run.is_finished and not run.name else 0.0
    run_window, closer = whole(drawn, seconds), close_up(drawn)
    if run_window is None:
        return "", []
    left_out = ""
    if len(drawn) < int(run.facts["simulation_ranks"]) + int(run.facts["sidecar_ranks"]):
        left_out = f'<p class="note">Only {units.count(len(drawn))} ranks are shown.</p>\n'
    figures = [left_out] if left_out else []
    figures += [f"<figure>{draw_timeline(run_window, f'{prefix}timeline')}</figure>"]
    if closer is not None:
        figures.append(
            "<h3>A few publications in the middle</h3>\n"
            f"<figure>{draw_timeline(closer, f'{prefix}closeup')}</figure>"
        )
    return "\n".join(figures), []


def attached_job_sections(attached_jobs: Sequence[Run]) -> tuple[list[str], list[str]]:
    """A section for every attached job, and what could not be put there."""
    made, problems = [], []
    for number, attached_job in enumerate(attached_jobs, start=1):
        figures, wrong = timeline_figures(attached_job, f"attached job{number}-")
        made.append(
            section(
                f"Attached job {attached_job.name}",
                "\n".join([_who(attached_job), figures, _asked(attached_job)]),
            )
        )
        problems += wrong
    return made, problems


def _who(attached_job: Run) -> str:
    names = ", ".join(escape(analysis.name) for analysis in attached_job.analyses)
    ranks = int(attached_job.facts["sidecar_ranks"])
    many = f"{units.count(ranks)} {'rank' if ranks == 1 else 'ranks'}"
    return (
        f'<p class="note">Joined with {many} while the run was active, to add: {names}. '
        f"Its own report is report-{escape(attached_job.name)}.json.</p>"
    )


def _asked(attached_job: Run) -> str:
    text = escape(attached_job.configuration.rstrip())
    return (
        f"<details><summary>Configuration of the attached job</summary><pre>{text}</pre></details>"
    )
