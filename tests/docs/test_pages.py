# SPDX-License-Identifier: BSD-3-Clause
"""The pages of the documentation as they stand in the repository: links lead somewhere, lists are
complete, figures are those that are drawn.
"""

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import limits
import pytest
from code_blocks import FENCE, PAGES, ROOT
from sample import make_sample

sys.path.append(str(ROOT / "docs/site"))

from figures import NAMES as DRAWN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith("http") and Path(target).name not in DRAWN:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_stage_and_its_parameters_are_listed():
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    stages = [
        source.stem
        for source in ROOT.glob("stages/**/*.cpp")
        if "PILLION_STAGE(" in source.read_text(encoding="utf-8")
    ]
    assert {"halos", "write_idx"} <= set(stages)
    for stage in stages:
        assert f"[`{stage}`]" in page, f"docs/configuration.md lacks {stage}"


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
    pictures = list((ROOT / "docs").rglob("*.svg"))
    assert pictures
    for picture in pictures:
        ElementTree.parse(picture)


def test_every_drawn_picture_is_made_and_shown(tmp_path):
    """The same bytes each time, and no file of that name is in the repository."""
    from figures import NAMES, draw_all

    for folder in ("a", "b"):
        draw_all(tmp_path / folder)
    made = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert set(made) == NAMES
    for name, data in made.items():
        ElementTree.fromstring(data)
        assert (tmp_path / "b" / name).read_bytes() == data
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert all(any(f"{name})" in text for text in texts) for name in NAMES)
    assert not [path for path in (ROOT / "docs").rglob("*.svg") if path.name in NAMES]


def test_every_page_is_in_the_menu():
    from places import read_places

    there = {entry.source for entry in read_places().entries()}
    pages = {page for page in PAGES if page.name != "README.md" or "stages" in page.parts}
    assert pages <= there, "docs/site/navigation.yml does not name all pages"


def test_pages_that_begin_with_a_program_tell_where_it_is_from():
    """Readers see no comment that names a scene; they may have no checkout."""
    others = {"slurm", "molecules", "nacl", "amr"}  # described on their pages
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        scene = re.search(r"^<!-- scene (\w+) -->$", text, re.MULTILINE)
        if scene and scene[1] not in others:
            assert "programs.md#" in text, f"{page} does not name the program of its scene"


def test_the_example_of_reading_a_table_runs(tmp_path):
    (tmp_path / "results").mkdir()
    make_sample(tmp_path / "results")
    done = limits.run(
        [sys.executable, ROOT / "docs/examples/read_table.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "2.47e-05"
