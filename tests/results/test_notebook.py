# SPDX-License-Identifier: BSD-3-Clause
"""The notebook that follows a run: it is kept without outputs, and when it is executed it sees the
run go on, draws its pictures, and what it draws is what theory says.
"""

import base64
import io
import os
from pathlib import Path

import limits
import matplotlib.image
import nbformat
import pytest
from conftest import PACKAGE
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples/notebook/follow_a_run.ipynb"
CHECK = """
theory = mean + amplitude * np.exp(-3 * alpha * wave_number**2 * decay["time"])
assert decay.sizes["step"] == steps // 10 + 1
deviation = mean + np.sqrt(8) * decay["standard_deviation"]
assert abs(deviation - theory).max() < 0.01, decay
assert run.returncode == 0 and results.has_ended
"""


@pytest.fixture(scope="module")
def executed(build, tmp_path_factory):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(CHECK))
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    told = {"PILLION_BUILD": str(build), "PYTHONPATH": path}
    told |= {"TMPDIR": str(tmp_path_factory.mktemp("notebook")), "MPLBACKEND": "inline"}
    told |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    patience = int(limits.limit(240))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        NotebookClient(notebook, timeout=patience, resources=where).execute()
    return notebook


def outputs(notebook, kind):
    """Data of this kind that cells have put out."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    found = (output.get("data", {}) for cell in cells for output in cell.outputs)
    return [data[kind] for data in found if kind in data]


def test_it_is_kept_without_outputs():
    kept = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(kept)
    for cell in kept.cells:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None


def test_its_pictures(executed):
    pictures = outputs(executed, "image/png")
    assert len(pictures) == 4
    for picture in pictures:
        pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(picture)))
        assert min(pixels.shape[:2]) > 200 and pixels[..., :3].std() > 0.05


def test_what_it_says(executed):
    printed = "".join(
        output.text
        for cell in executed.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stdout"
    )
    assert "the run ended well" in printed
    assert int(printed.split("looked ")[1].split()[0]) > 1, "it was looked at while it went on"
    overview = next(page for page in outputs(executed, "text/html") if "pillion-results" in page)
    for name in ("statistics_temperature", "histogram_temperature", "cube"):
        assert f"<code>{name}</code>" in overview
