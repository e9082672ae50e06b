# SPDX-License-Identifier: BSD-3-Clause
"""A dataset goes on after a restart, from the step of the checkpoint, with the same parameters or
not at all."""

import re
import shutil

import pytest
from datasets import mesh_scene
from scenes import Placement
from vtkhdf_steps import check_run

PLACEMENT = Placement(2, 0, "slabs")


def scene(stage: str, form: str = "idx"):
    return mesh_scene("brick", {"a": f"write_{form}: {stage}"}, frames=4)


@pytest.fixture(autouse=True)
def needs_write(build):
    if not (build / "stages" / "write_idx.so").exists():
        pytest.skip("the stage write_idx was not built: zlib or LZ4 was not found")


def times(dataset) -> str:
    return re.search(r"\(time\)\n(.*)", dataset.read_text())[1]


OTHERS = {
    "field": "{fields: [ids]}",
    "size": "{fields: [velocity]}",
    "more": "{fields: [density, ids]}",
    "codec": "{fields: [density], compression: zip}",
    "blocks": "{fields: [density], bits_per_block: 6}",
    "levels": "{fields: [density], leave_out: 3}",
    "region": "{fields: [density], region: [[0, 8], [0, 8], [0, 8]]}",
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_parameters_are_refused_and_nothing_is_lost(build, tmp_path, other):
    state = tmp_path / "state"
    first = scene("{fields: [density]}")
    results, _ = first.run(build, tmp_path, PLACEMENT, last=2, checkpoint=state)
    dataset = results / "a" / "grid.idx"
    before = dataset.read_bytes()
    second = scene(OTHERS[other])
    _, done = second.run(build, tmp_path, PLACEMENT, first=2, restart=state, fails=True)
    assert "dataset 'grid' was saved with other parameters" in done.stderr
    assert dataset.read_bytes() == before


FACES = {
    "idx": "grid.idx",
    "raw": "grid.raw.yaml",
    "plotfile": "grid.visit",
    "hdf5": "grid.xmf",
    "openpmd": "grid.pmd",
    "vtkhdf": "grid.vtkhdf.series",
}


def formats(build) -> list[str]:
    has_hdf5 = "HDF5_WORKS:INTERNAL=1" in (build / "CMakeCache.txt").read_text()
    return ["raw", "plotfile", *(["hdf5", "openpmd", "vtkhdf"] if has_hdf5 else [])]


def test_other_fields_are_refused_in_other_formats(build, tmp_path):
    for form in formats(build):
        folder = tmp_path / form
        state = folder / "state"
        first = scene("{fields: [density]}", form)
        results, _ = first.run(build, folder, PLACEMENT, last=2, checkpoint=state)
        before = (results / "a" / FACES[form]).read_bytes()
        second = scene("{fields: [velocity]}", form)
        _, done = second.run(build, folder, PLACEMENT, first=2, restart=state, fails=True)
        assert "dataset 'grid' was saved with other parameters" in done.stderr
        assert (results / "a" / FACES[form]).read_bytes() == before


def test_steps_after_the_checkpoint_are_written_anew(build, tmp_path):
    state = tmp_path / "state"
    played = scene("{fields: [density]}")
    played.run(build, tmp_path, PLACEMENT, last=2, checkpoint=state)
    results, _ = played.run(build, tmp_path, PLACEMENT, first=2, restart=state)
    dataset = results / "a" / "grid.idx"
    assert times(dataset) == "time%09d/ (0,3,1)"
    results, _ = played.run(build, tmp_path, PLACEMENT, first=2, last=3, restart=state)
    assert times(dataset) == "time%09d/ (0,2,1)"


def test_steps_after_the_checkpoint_in_other_formats(build, tmp_path):
    for form in formats(build):
        folder = tmp_path / form
        state = folder / "state"
        played = scene("{fields: [density]}", form)
        told = {
            "raw": r"\{step: (\d+)",
            "plotfile": r"plt(\d{9})/Header",
            "hdf5": r"grid\.(\d{9})\.h5:/density",
            "openpmd": r"grid_(\d{9})\.h5",
            "vtkhdf": r"grid\.(\d{9})\.vtkhdf",
        }[form]
        for first, last, gone in ((0, 2, []), (2, 4, []), (2, 3, []), (2, 4, [0, 1])):
            if gone:  # and all else that the earlier run has written
                shutil.rmtree(folder / "results/a")
            results, _ = played.run(
                build,
                folder,
                PLACEMENT,
                first=first,
                last=last,
                **({"checkpoint": state} if first == 0 else {"restart": state}),
            )
            text = (results / "a" / FACES[form]).read_text()
            if form == "openpmd":  # readers take all files that there are
                text = str(list((results / "a" / "grid_openpmd").iterdir()))
            found = sorted({int(step) for step in re.findall(told, text)})
            assert found == [step for step in range(last) if step not in gone], form
            if form == "vtkhdf" and not gone:
                check_run(results / "a", "grid", last)
            if form == "plotfile":  # readers take all that there are
                assert len(list((results / "a" / "grid_plotfiles").iterdir())) == len(found) + 1


def test_a_step_of_more_files_than_may_be_open(build, tmp_path):
    played = mesh_scene(
        "cube",
        {
            "a": "write_idx: {fields: [density], durable: false, bits_per_block: 4, "
            "blocks_per_file: 1}"
        },
        frames=1,
    )
    results, _ = played.run(build, tmp_path, Placement(1, 0, "slabs"))
    assert len(list((results / "a" / "grid").rglob("*.bin"))) == 2048
