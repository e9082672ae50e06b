# SPDX-License-Identifier: BSD-3-Clause
"""The page of `pillion view` in a real browser: sixteen million cells, coarse at once and fine
after that, and what one does with them.
"""

import json
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import cosmic_web
import idx_writer
import limits
import numpy as np
import pillion.idx
import pytest
from browser import CHROMIUM, TOLD, Browser
from matplotlib import colormaps
from pillion.view.server import Server
from view_sample import command

ROOT = Path(__file__).parents[2]
SIDE = 256
MASK = "V" + 8 * "012"
AT_ONCE = 1000  # milliseconds

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


def openvisus(folder, name, header, fields, arrays):
    """`arrays[step]` has an array for each field, (name, dtype, components)."""
    for step, values in arrays.items():
        for (field, _, _), array in zip(fields, values, strict=True):
            np.save(folder / f"{name}.{field}.{step}.npy", array)
    case = {"name": name, "header": header, "fields": fields, "steps": list(arrays)}
    case |= {"low": [0, 0, 0], "shape": [SIDE] * 3}
    (folder / "cases.json").write_text(json.dumps([case]))
    writer = Path(__file__).with_name("openvisus_writer.py")
    command = [sys.executable, writer, folder, folder / "cases.json"]
    done = limits.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / f"{name}.idx"


def header_of(name, fields, steps):
    return idx_writer.header(
        mask=MASK,
        box=[(0, SIDE)] * 3,
        fields=fields,
        bits_per_block=15,
        per_file=64,
        files=f"./{name}/%04x.bin",
        more=f"(physic_box)\n0 100 0 100 0 100\n(time)\n{steps}\n",
    )


def waves(step):
    """Different along all axes, from -1 to 1, and cheap."""
    t = np.linspace(0, 3, SIDE, dtype="f4")
    x, y, z = np.sin(3 * t + step), np.cos(2 * t), np.sin(t * t)
    return x[None, None, :] * y[None, :, None] * z[:, None, None]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    fields = [("wave", "float32", 1), ("height", "uint16", 1)]
    height = np.broadcast_to(np.geomspace(1, 6e4, SIDE).astype("u2")[:, None, None], (SIDE,) * 3)
    arrays = {0: [waves(0), height], 5: [waves(5), height]}
    texts = ["wave float32 default_layout(hzorder)", "height uint16"]
    header = header_of("large", texts, "t%02d/ (0,5,5)")
    return openvisus(folder, "large", header, fields, arrays)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@contextmanager
def shown(browser, path):
    with Server(pillion.idx.open(path)) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
        thread.start()
        try:
            browser.open(server.url)
            browser.until("document.documentElement?.dataset.state === 'refined'")
            yield server
        finally:
            server.shutdown()
            thread.join()


def said(browser):
    return json.loads(browser.ask(TOLD))


def press(browser, *keys):
    for key in keys:
        browser.key(key)
    browser.until("document.documentElement.dataset.state === 'refined'")


def sample(browser, u, v):
    """The value that the page has for a place in the plane, and the colour that is drawn there."""
    return browser.ask(f"""(() => {{
        const [x, y] = picture.place(viewNow(), {u} + 0.5, {v} + 0.5), canvas = picture.canvas;
        const scale = canvas.width / canvas.clientWidth;
        const at = [Math.floor(x * scale), Math.floor(y * scale), 1, 1];
        return {{value: picture.sampleAt({u}, {v}).value, x, y,
                 rgb: [...canvas.getContext("2d").getImageData(...at).data].slice(0, 3)}};
    }})()""")


def test_sixteen_million_cells(browser, large):
    """Coarse at once, in the best of three, and then fine."""
    found = []
    for _ in range(3):
        with shown(browser, large):
            found.append(said(browser))
    first = min(int(told["firstPictureMs"]) for told in found)
    assert first < AT_ONCE
    for told in found:
        assert int(told["firstSamples"]) <= SIDE**2 / 16
        assert int(told["samples"]) == SIDE**2
        assert int(told["level"]) == 24
        assert int(told["refinedMs"]) > int(told["firstPictureMs"])
    print(f"first picture after {first} ms")


def test_what_is_drawn_is_what_is_there(browser, large):
    values = np.load(large.with_name("large.wave.5.npy"))
    with shown(browser, large):
        for key, picked in (("z", values[128]), ("x", values[:, :, 128]), ("y", values[:, 128])):
            press(browser, key)
            low, high = (browser.ask(f"pillionViewState.{end}") for end in ("low", "high"))
            assert low <= picked.min() and high >= picked.max()
            for u, v in ((3, 7), (100, 200), (255, 0), (0, 255), (128, 128)):
                drawn = sample(browser, u, v)
                assert drawn["value"] == picked[v, u]
                colour = colormaps["viridis"]((picked[v, u] - low) / (high - low))
                np.testing.assert_allclose(drawn["rgb"], np.multiply(colour[:3], 255), atol=4)


def test_the_value_under_the_pointer(browser, large):
    values = np.load(large.with_name("large.wave.5.npy"))
    with shown(browser, large):
        at = sample(browser, 40, 200)
        box = browser.ask("JSON.parse(JSON.stringify(picture.canvas.getBoundingClientRect()))")
        browser.mouse("mouseMoved", x=box["x"] + at["x"], y=box["y"] + at["y"])
        browser.until("at('where').textContent !== ''")
        assert browser.ask("at('where').textContent").startswith(
            "x 40  y 200  z 128  ·  (15.82, 78.32, "
        )
        text = browser.ask("at('value').textContent").replace("−", "-").replace("×10⁻", "e-")
        assert float(text.replace("⁴", "4")) == pytest.approx(values[128, 200, 40], rel=1e-4)


def test_keys(browser, large):
    with shown(browser, large):
        state = lambda name: browser.ask(f"pillionViewState.{name}")  # noqa: E731
        press(browser, "ArrowUp", "ArrowUp", "ArrowDown")
        assert state("positions") == [128, 128, 129]
        press(browser, "ArrowLeft", "ArrowLeft")
        assert said(browser)["step"] == "0"
        press(browser, "ArrowRight")
        assert said(browser)["step"] == "5"
        press(browser, "c", "s")
        assert (state("map"), state("smooth")) == ("inferno", True)
        assert not browser.ask("isLog()")
        press(browser, "f")
        assert browser.ask("document.title").startswith("height")
        press(browser, "x")
        assert browser.ask("isLog()"), "a field over four decades"
        assert (state("low"), state("high")) == (6, 60_000)  # four decades
        press(browser, "l")
        assert not browser.ask("isLog()")


def test_zooming_reads_less_and_finer(browser, large):
    with shown(browser, large):
        browser.ask("""
            window.orders = [];
            const keep = tell;
            tell = (...all) => {
              orders.push(picture.layers.map((layer) => layer.slice.stride[0]));
              keep(...all);
            }""")
        press(browser, "+", "+", "+")
        window = browser.ask("windowNow()")
        assert all(70 < hi - lo < 80 for lo, hi in window)
        browser.until(f"+document.documentElement.dataset.samples < {SIDE**2 / 8}")
        assert int(said(browser)["level"]) == 24
        orders = browser.ask("orders")
        stacks = [order for order in orders if len(order) > 1]
        assert any(order[-1] == 1 for order in stacks), "what is seen already stays"
        assert all(order == sorted(order, reverse=True) for order in orders)
        press(browser, "0")
        assert browser.ask("windowNow()") == [[0, 256], [0, 256]]


def test_limits_of_ones_own(browser, large):
    with shown(browser, large):
        browser.ask("at('low').value = '0'; at('high').value = '0.25';"
                    "at('high').dispatchEvent(new Event('change'))")  # fmt: skip
        for u, v in ((30, 100), (200, 128)):
            drawn = sample(browser, u, v)
            colour = colormaps["viridis"](drawn["value"] / 0.25)
            np.testing.assert_allclose(drawn["rgb"], np.multiply(colour[:3], 255), atol=4)


def test_steps_that_come_are_followed(browser, large):
    text = large.read_text()
    try:
        large.write_text(text.replace("(0,5,5)", "(0,0,1)"))
        with shown(browser, large):
            assert said(browser)["steps"] == "1"
            browser.ask("at('follow').click()")
            large.write_text(text)
            browser.until("document.documentElement.dataset.steps === '2'")
            browser.until("document.documentElement.dataset.step === '5'")
            assert browser.ask("at('moment').textContent") == "step 5"
    finally:
        large.write_text(text)


def test_the_end_of_the_program_is_told(browser, large):
    with command(large) as process:
        browser.open(process.stdout.readline().strip())
        browser.until("document.documentElement?.dataset.state === 'refined'")
    browser.until("!at('notice').hidden")
    assert "has ended" in browser.ask("at('notice').textContent")


def test_playing_goes_through_the_steps(browser, large):
    with shown(browser, large):
        browser.ask("window.steps = []; const keep = tell;"
                    "tell = (...all) => { steps.push(drawn.step); keep(...all); }")  # fmt: skip
        browser.key(" ")
        browser.until("steps.length > 4")
        browser.key(" ")
        browser.until("document.documentElement.dataset.state === 'refined'")
        steps = browser.ask("steps")
        assert steps[:4] == [0, 5, 0, 5]


def test_a_broken_file_is_told(browser, large, tmp_path):
    for part in large.parent.iterdir():
        (tmp_path / part.name).symlink_to(part)
    text = large.read_text().replace("./large", "./broken")
    (tmp_path / "broken.idx").write_text(text)
    (tmp_path / "broken/t05").mkdir(parents=True)
    (tmp_path / "broken/t05/0000.bin").write_bytes(b"short")
    with Server(pillion.idx.open(tmp_path / "broken.idx")) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        browser.open(server.url)
        browser.until("document.documentElement?.dataset.problem")
        assert "0000.bin: it is cut short" in browser.ask("at('notice').textContent")
        server.shutdown()


@pytest.mark.parametrize("axes", [1, 2])
def test_what_is_flat(browser, tmp_path, axes):
    values = np.linspace(-1, 1, 8 * 6).reshape(6, 8)[: 1 if axes == 1 else 6].astype("f4")
    values[0, 5] = np.nan
    about = {"mask": "V010101" if axes == 2 else "V000", "bits_per_block": 2, "per_file": 8}
    path = idx_writer.write_dataset(tmp_path, "d", {0: [values[None, :, :, None]]}, **about)
    path.write_text(path.read_text().replace(" 0 0\n" if axes == 2 else " 0 0 0 0\n", "\n"))
    with shown(browser, path):
        assert said(browser)["samples"] == str(values.size)
        press(browser, *"cccccc")
        most = np.nanmax(np.abs(values))
        for u, v in ((0, 0), (3, 0), (7, len(values) - 1)):
            drawn = sample(browser, u, v)
            assert drawn["value"] == values[v, u]
            assert (drawn["rgb"][2] > drawn["rgb"][0]) == (values[v, u] < 0), "blue is below 0"
        assert browser.ask("[state.low, state.high]") == [-most, most]
        assert browser.ask("Number.isNaN(picture.sampleAt(5, 0).value)")


@pytest.mark.skipif("PILLION_TEST_ALL" not in os.environ, reason="takes a minute")
def test_picture_for_the_docs(browser, tmp_path):
    """A universe that grows, which is nice to look at. PILLION_PICTURE says where it goes."""
    origin = """\
# analysis: snapshots
# stage: write
# title: "Growth of structure"
# time_units: "Gyr"
# length_units: "Mpc"
# times: [2.2, 5.9, 13.8]
# columns:
#   - {name: "density", units: "Msun/Mpc^3"}
"""
    field = ("density", "float32", 1)
    header = header_of("universe", ["density float32 default_layout(hzorder)"], "t%03d/ (0,100,50)")
    arrays = {step: [d] for step, d in zip((0, 50, 100), cosmic_web.densities(SIDE))}
    path = openvisus(tmp_path, "universe", origin + header, [field], arrays)
    picture = Path(os.environ.get("PILLION_PICTURE", tmp_path / "view.png"))
    with shown(browser, path):
        assert int(said(browser)["firstPictureMs"]) < AT_ONCE
        assert browser.ask("isLog()")
        press(browser, "c")
        at = sample(browser, 140, 141)
        box = browser.ask("JSON.parse(JSON.stringify(picture.canvas.getBoundingClientRect()))")
        browser.mouse("mouseMoved", x=box["x"] + at["x"], y=box["y"] + at["y"])
        browser.until("at('where').textContent !== ''")
        browser.picture(picture)
    assert 20_000 < picture.stat().st_size <= 300_000
