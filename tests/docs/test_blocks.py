# SPDX-License-Identifier: BSD-3-Clause
"""Every code block of the documentation is run, compiled or checked: the files and commands of a
page one after the other, as a reader would type them; programs and configurations by themselves. A
block that says nothing of what it is fails.
"""

import os
import re

import limits
import prepared
import pytest
from code_blocks import (
    COMPILED,
    PAGES,
    ROOT,
    RUN,
    SHOWN,
    WORDS,
    all_blocks,
    blocks_of,
    patched,
    scene_of,
    source_of,
)
from typist import Typist, write_file

ALL = bool(os.environ.get("PILLION_TEST_ALL"))
BLOCKS = [pytest.param(block, id=block.place) for block in all_blocks()]
SOMEWHERE = {"from", "lines"}


def those(languages, *words, without=()):
    return [
        p for p in BLOCKS
        if p.values[0].language in languages
        and (not words or set(words) & set(p.values[0].said))
        and not set(without) & set(p.values[0].said)
    ]  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS)
def test_block_says_what_it_is(block):
    assert block.language in RUN | COMPILED | SHOWN | {"yaml"}, f"{block.place}: no such language"
    assert set(block.said) <= WORDS, f"{block.place}: {set(block.said) - WORDS}"
    if block.language in COMPILED:
        assert set(block.said) & {*SOMEWHERE, "within"}, f"{block.place}: from where is this?"
    if block.language in SHOWN:
        assert "awaited" not in block.said


@pytest.mark.parametrize("block", those(RUN | COMPILED | {"yaml"}, *SOMEWHERE))
def test_block_is_part_of_a_file_that_is_used(block):
    if "from" in block.said:
        assert block.text in source_of(block.said["from"]), f"{block.place} is not there"
        name = block.said["from"].split()[0]
    else:
        name = block.said["lines"].removeprefix("of ")
        lines = iter(line.strip() for line in (ROOT / name).read_text("utf-8").splitlines())
        for line in filter(None, map(str.strip, block.text.splitlines())):
            assert line in lines, f"{block.place}: '{line}' is not there, or in another order"
    assert is_used(ROOT / name), f"nothing builds or runs {name}"


def is_used(path):
    """Named by CMake, by a test, or by another file of an example."""
    users = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("[!.b]*/**/CMakeLists.txt")]
    users += [user for user in path.parent.iterdir() if user.suffix == ".md"]
    stem = path.stem if path.suffix == ".cpp" else path.name
    return path.name == "CMakeLists.txt" or any(stem in u.read_text("utf-8") for u in users)


def typed_of(page):
    found = [b for b in blocks_of(page) if b.language in RUN or "file" in b.said]
    return [block for block in found if not SOMEWHERE & set(block.said)]


TYPED = [
    pytest.param(p, id=f"{p.parent.name}/{p.stem}")
    for p in PAGES
    if typed_of(p) and scene_of(p) != "slurm"  # which tests/cluster types
]


@pytest.mark.drawn
@pytest.mark.parametrize("page", TYPED)
def test_page_as_a_reader_types_it(page, tmp_path, build):
    typist = Typist(tmp_path, build)
    name = scene_of(page)
    if name is not None:
        getattr(prepared, name)(typist)
    there = [block for block in typed_of(page) if "awaited" not in block.said]
    for block in there:
        if "installs" not in block.said or ALL:
            typist.read(block)
    typist.expect_no_failures()
    if len(there) < len(typed_of(page)):
        pytest.xfail("some of it is awaited")


@pytest.mark.parametrize("block", those({"c", "cpp", "diff"}, "within"))
def test_program_around_block_compiles(block, tmp_path, build):
    frame = ROOT / block.said["within"]
    code = patched(block.text) if block.language == "diff" else block.text
    includes = "".join(re.findall(r"^#include .*\n", code, re.MULTILINE))
    body = re.sub(r"^#include .*\n", "", code, flags=re.MULTILINE)
    before, mark, after = frame.read_text("utf-8").partition("/* block */\n")
    assert mark, f"{frame.name} has no line /* block */"
    text = before + body + after
    source = tmp_path / frame.name
    source.write_text(includes + text, encoding="utf-8")
    compiler = ["mpicc", "-std=c11"] if frame.suffix == ".c" else ["mpicxx", "-std=c++20"]
    flags = ["-Wall", "-Werror", f"-I{ROOT / 'include'}", f"-I{build / 'include'}"]
    flags += [f"-L{build / 'lib'}", f"-L{build}", "-lpillion", "-o", str(tmp_path / "program")]
    done = limits.run([*compiler, str(source), *flags], capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    assert done.returncode == 0, f"{block.place}\n{done.stderr}"


@pytest.mark.parametrize("block", those({"fortran"}, "within"))
def test_program_around_fortran_compiles(block, tmp_path, build):
    modules = build / "fortran/fortran"
    if not modules.exists():
        pytest.skip("this build has no Fortran modules")
    frame = ROOT / block.said["within"]
    before, _, after = re.split(r"^( *! block)\n", frame.read_text("utf-8"), flags=re.MULTILINE)
    source = tmp_path / frame.name
    source.write_text(before + block.text + after, encoding="utf-8")
    flags = ["-std=f2018", "-Wall", "-Werror", f"-I{modules}", f"-J{tmp_path}", "-fsyntax-only"]
    done = limits.run(["mpifort", *flags, str(source)], capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    assert done.returncode == 0, f"{block.place}\n{done.stderr}"


@pytest.mark.parametrize("block", those({"yaml"}))
def test_configuration_is_accepted(block, tmp_path, build):
    if "awaited" in block.said:
        pytest.xfail(f"{block.place} awaits {block.said['awaited']}")
    text = prepared.completed(block)
    if text is None:  # another file in YAML, which a command of the page reads
        return
    for other in blocks_of(block.page):
        if "file" in other.said:  # stages in Python, for example
            write_file(tmp_path, other)
    (tmp_path / "pillion.yaml").write_text(text, encoding="utf-8")
    typist = Typist(tmp_path, build)
    done = limits.run(["pillion-check", "pillion.yaml"], cwd=tmp_path, env=typist.environment,
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}\n{text}"


def test_nothing_is_awaited_for_ever():
    """The word is for what is being written; it must be gone when that is there."""
    waiting = [block.place for block in all_blocks() if "awaited" in block.said]
    if waiting:
        pytest.xfail(", ".join(waiting))


def test_words_are_explained():
    page = (ROOT / "docs/writing.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)", page, re.MULTILINE)) >= WORDS
