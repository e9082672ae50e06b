# SPDX-License-Identifier: BSD-3-Clause
"""The documentation keeps what it promises: code that it shows is code that is compiled or run,
links lead somewhere, configurations name keys and stages that exist.

A block of code follows a comment that says where it is from, `<!-- from FILE -->` or
`<!-- from FILE [REGION] -->`, a region lying between two lines that hold `[REGION]`; or
`<!-- lines of FILE -->`, for lines that stand apart there; or `<!-- not compiled: WHY -->`.
"""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from sample import make_sample

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM_LANGUAGES = {"c", "cpp", "python", "cmake"}
FENCE = re.compile(r"(?:^<!-- (.*?) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(languages):
    for page in PAGES:
        for origin, language, code in FENCE.findall(page.read_text(encoding="utf-8")):
            if language in languages:
                yield pytest.param(page, origin, code, id=f"{page.name}: {code.split()[0]}")


def source_of(origin):
    """The text that a block must be part of."""
    match = re.fullmatch(r"from (\S+)(?: \[(\w+)\])?", origin)
    assert match, f"'{origin}' does not say where the code is from"
    text = (ROOT / match[1]).read_text(encoding="utf-8")
    if match[2] is None:
        return text
    parts = re.split(rf"^.*\[{match[2]}\]\n", text, flags=re.MULTILINE)
    assert len(parts) == 3, f"{match[1]} has no region [{match[2]}]"
    return parts[1]


@pytest.mark.parametrize(("page", "origin", "code"), list(blocks(PROGRAM_LANGUAGES)))
def test_code_is_from_a_source(page, origin, code):
    if origin.startswith("not compiled: "):
        return
    if origin.startswith("lines of "):
        source = (ROOT / origin.removeprefix("lines of ")).read_text(encoding="utf-8").splitlines()
        stripped = iter(line.strip() for line in source)
        for line in filter(None, map(str.strip, code.splitlines())):
            assert line in stripped, f"'{line}' is not there, or in another order"
        return
    assert code in source_of(origin)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(
        r"\]\(([^)#\s]+)[^)]*\)", FENCE.sub("", page.read_text(encoding="utf-8"))
    ):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize(("page", "origin", "code"), list(blocks({"yaml"})))
def test_configurations(page, origin, code):
    if origin:
        assert code in source_of(origin)
    configuration = yaml.safe_load(code)
    known = re.findall(r"^\| `(\w+)`", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE)
    assert set(configuration) <= {*known, "meshes", "fields"}
    for analysis in configuration["analyses"].values():
        for stage in analysis["stages"]:
            for name, parameters in stage.items():
                check_stage(name, parameters)


def check_stage(name, parameters):
    source = (ROOT / f"stages/{name}/{name}.cpp").read_text(encoding="utf-8")
    described = re.findall(r'^    \{"(\w+)",\s', source, re.MULTILINE)
    assert described, f"no parameters found in the source of stage {name}"
    assert set(parameters) <= {*described, "at"}


def test_every_stage_and_its_parameters_are_listed():
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for source in ROOT.glob("stages/*/*.cpp"):
        if f'"{source.stem}"' in source.read_text(encoding="utf-8") and (
            source.stem == source.parent.name
        ):
            assert f"[`{source.stem}`]" in page, f"docs/configuration.md lacks {source.stem}"


def test_every_word_of_the_glossary_is_defined_once():
    words = re.findall(r"^\| (.+?) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    every = [word for entry in words for word in entry.split(", ")]
    assert len(every) == len(set(every))
    assert {"session", "cut", "stage", "publication", "layout"} <= set(every)


def test_the_picture_of_the_layers_is_what_is_checked():
    """Every arrow between folders of src/ is allowed, and every allowed one can be followed."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    checked = runpy.run_path(str(ROOT / "tools/check_layers.py"))["LAYERS"]
    drawn = {layer: set() for layer in checked}
    for line in re.findall(r"^  (.*-->.*)$", page, re.MULTILINE):
        sides = [set(re.findall(r"\b\w+\b", side)) & set(checked) for side in line.split("-->")]
        for above in sides[0]:
            drawn[above] |= sides[1]
    assert all(drawn[layer] <= checked[layer] for layer in checked)
    reached = {layer: set(below) for layer, below in drawn.items()}
    for _ in checked:
        for layer in reached:
            reached[layer] |= {far for near in reached[layer] for far in reached[near]}
    assert all(checked[layer] <= reached[layer] for layer in checked)


def test_pictures_are_well_formed():
    pictures = list((ROOT / "docs").glob("*.svg"))
    assert pictures
    for picture in pictures:
        ElementTree.parse(picture)


def test_the_example_of_reading_a_table_runs(tmp_path):
    (tmp_path / "results").mkdir()
    make_sample(tmp_path / "results")
    done = subprocess.run(
        [sys.executable, ROOT / "docs/examples/read_table.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "2.47e-05"
