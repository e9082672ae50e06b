# SPDX-License-Identifier: BSD-3-Clause
"""`pillion completion`: what makes a shell complete this command, made from all its parsers."""

import argparse

from pillion.errors import Error

_EPILOG = """\
Bash:  pillion completion bash > ~/.local/share/bash-completion/completions/pillion
Zsh:   pillion completion zsh > FOLDER/_pillion, FOLDER being one of those in $fpath"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"])
    parser.epilog = _EPILOG


def run(arguments: argparse.Namespace) -> int:
    from pillion.command import parser

    try:
        import shtab
    except ImportError as error:
        raise Error("completion needs the package shtab: pip install shtab") from error
    print(shtab.complete(parser(), shell=arguments.shell))
    return 0
