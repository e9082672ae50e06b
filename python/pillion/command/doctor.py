# SPDX-License-Identifier: BSD-3-Clause
"""`pillion doctor`: what is found on this machine, and what is missing."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(_: argparse.Namespace) -> int:
    from pillion.command import paint
    from pillion.doctor import Verdict, findings, lines_of

    colours = {Verdict.GOOD: paint.good, Verdict.NOTE: paint.note, Verdict.BAD: paint.error}
    worst = 0
    for finding in findings():
        head, *advice = lines_of(finding)
        word = finding.verdict.value
        print(colours[finding.verdict](word) + head.removeprefix(word))
        for line in advice:
            print(line)
        worst = max(worst, 1 if finding.verdict is Verdict.BAD else 0)
    return worst
