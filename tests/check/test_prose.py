# SPDX-License-Identifier: BSD-3-Clause
"""The prose linter tools/check_prose.py: what it reads in a page, where it finds sentences, what it
reports, and its exit status.
"""

import runpy
import sys
from pathlib import Path

import limits
import pytest

TOOL = Path(__file__).parents[2] / "tools/check_prose.py"
PROSE = runpy.run_path(str(TOOL))
LONG = " ".join(["word"] * 33)


def found(text):
    return [(f.line, f.advice) for f in PROSE["findings"](PROSE["markdown"](text))]


def sentences(text):
    return [s for p in PROSE["markdown"](text) for s in PROSE["sentences"](p)]


@pytest.mark.parametrize(
    "text",
    [
        f"```text\n{LONG}\n```",
        f"A list:\n\n    {LONG}",
        f"<!-- {LONG} -->",
        f"`{LONG}`",
        f"[three short words](https://example.org/{LONG.replace(' ', '/')})",
        "| " + " | ".join(["1.5"] * 40) + " |",
        f"{LONG[5:]}.\n{LONG[5:]}.".replace("word", "Word"),
    ],
    ids=["block", "indented", "comment", "span", "link", "table", "two sentences"],
)
def test_is_not_reported(text):
    assert found(text) == []


@pytest.mark.parametrize("before", ["", "- ", "> ", "1. ", "| cell | ", "- item\n\n  "])
def test_long_sentence_is_reported_in(before):
    assert found(before + LONG) == [
        (before.count("\n") + 1, "33 words: split it (limit 32, aim at 25)")
    ]


def test_sentences_carry_the_lines_on_which_they_begin():
    text = "# Title\n\nOne is\nhere. Two, e.g. Rome, is here.\nThree is `a. B` here.\n"
    assert sentences(text) == [
        (1, "Title"),
        (3, "One is here."),
        (4, "Two, e.g. Rome, is here."),
        (5, "Three is `code` here."),
    ]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The simulation goes on.", "'goes on'"),
        ("It is told the size.", "'is told'"),
        ("Of a run that has ended, files are left.", "opens with 'Of'"),
        ("What is missing is an error.", "opens with 'What'"),
        ("This is no number.", "'is no'"),
    ],
)
def test_words_and_openers_are_reported(sentence, words):
    [(_, advice)] = found(sentence)
    assert advice.startswith(words)


@pytest.mark.parametrize(
    "sentence",
    [
        "What does it cost?",
        "Of course it runs.",
        "There is no file.",
        "It `goes on`.",
        "## What it is",
    ],
)
def test_plain_english_passes(sentence):
    assert found(sentence) == []


def test_status_and_report(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("All is well.\n", encoding="utf-8")
    assert limits.run([sys.executable, TOOL, page]).returncode == 0
    page.write_text("Fine.\n\nWhoever reads this is warned.\n", encoding="utf-8")
    done = limits.run([sys.executable, TOOL, page], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{page}:3: Whoever reads this is warned. …: 'Whoever': name" in done.stdout


def test_docstrings_help_texts_and_messages_are_read():
    code = (
        '"""Whoever reads this."""\n\n\ndef f():\n    """A.\n\n    It goes on.\n    """\n'
        '    x = "nobody"\n    add("--x", help="made anew")\n'
    )
    lines = [(f.line, f.advice.split("'")[1]) for f in PROSE["findings"](PROSE["python"](code))]
    assert sorted(lines) == [(1, "Whoever"), (7, "goes on"), (10, "anew")]
    code = (
        'int a = g("whoever");\nthrow Error(code, "file " + name +\n    " is " "told");\n'
        'fail("fine");\n'
    )
    (one,) = PROSE["findings"](PROSE["cpp"](code))
    assert (one.line, one.advice.split("'")[1]) == (2, "is told")


def test_entries_and_items_of_docstrings_are_sentences_of_their_own():
    entry = "word " * 20
    code = f'"""One.\n\n- {entry}\n- {entry}\n\nArgs:\n    a: {entry}\n    b, c: {entry}\n"""\n'
    assert list(PROSE["findings"](PROSE["python"](code))) == []


def test_messages_of_python_errors_are_read():
    code = 'def f(x):\n    raise Error(f"\'{x}\' is " "told")\n'
    (one,) = PROSE["findings"](PROSE["python"](code))
    assert (one.line, one.advice.split("'")[1]) == (2, "is told")


def test_comments_are_checked_for_words_alone():
    code = f"// {LONG}\n// it is\n// told.\nint x;  ///< made anew\n/** Of a run.\n *  Nobody. */\n"
    lines = [(f.line, f.advice.split("'")[1]) for f in PROSE["findings"](PROSE["cpp"](code))]
    assert lines == [(1, "is told"), (4, "anew"), (6, "Nobody")]
