# SPDX-License-Identifier: BSD-3-Clause
"""`pillion runs`: the runs that go on on this node; found by the program pillion-attach."""

import argparse

from pillion import programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(_: argparse.Namespace) -> int:
    programs.become("pillion-attach", [])
