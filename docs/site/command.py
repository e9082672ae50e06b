# SPDX-License-Identifier: BSD-3-Clause
"""The page of the command line, from the very parsers that read it, so that it cannot go stale."""

import argparse
import re
import sys
from collections.abc import Iterator

from places import ROOT

INTRODUCTION = """\
# The command `pillion`

What each command and option means, as `pillion COMMAND --help` says it. The status is 0 if all
went well, 1 if something was wrong (the reason is on standard error), 2 if the command line was;
commands that start programs end with their status. With `NO_COLOR` set, or where output is no
terminal, nothing is coloured.
"""


def page() -> str:
    """All commands, in the order in which `pillion --help` lists them."""
    sys.path.insert(0, str(ROOT / "python"))
    from pillion import command

    parts = [INTRODUCTION, "| command | |\n|---|---|"]
    rows = [f"| [`{c.name}`](#pillion-{c.name}) | {_cell(c.summary)} |" for c in command.COMMANDS]
    parts.append("\n".join(rows) + "\n")
    for one in command.COMMANDS:
        parts += _command(one.name, _inner(command.parser(only=one.name), one.name))
    return "\n".join(parts)


def _inner(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    choices = next(
        action.choices
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return choices[name]


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## `pillion {name}`\n"
    yield f"{parser.description or ''}\n"
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    yield f"```text\n{_folded(usage)}\n```\n"
    shown = [a for a in parser._actions if a.help != argparse.SUPPRESS and a.dest != "help"]
    if shown:
        yield "| argument | |\n|---|---|"
        yield "\n".join(f"| {_name(action)} | {_help(action)} |" for action in shown) + "\n"
    if parser.epilog:
        yield f"{parser.epilog}\n"


def _folded(usage: str, width: int = 92) -> str:
    """A long usage over several lines, between arguments."""
    lines = [""]
    for word in re.findall(r"\[[^\]]*\](?:\S*)|\S+", usage):
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("   ")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def _name(action: argparse.Action) -> str:
    value = action.metavar if action.metavar is not None else action.dest.upper()
    values = " ".join(value) if isinstance(value, tuple) else value
    if action.choices is not None and action.metavar is None:
        values = "\\|".join(map(str, action.choices))
    if not action.option_strings:
        return f"`{values}`"
    shown = "" if action.nargs == 0 else f" {values}"
    return ", ".join(f"`{option}{shown}`" for option in action.option_strings)


def _help(action: argparse.Action) -> str:
    text = action.help or ""
    if "%(default)s" in text:
        text = text.replace("%(default)s", str(action.default))
    return _cell(text.replace("%%", "%"))


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
