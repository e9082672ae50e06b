# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema accepts every configuration that is good and refuses what editors can notice; it
has the keys of docs/configuration.md and the parameters that stages describe."""

import json
import os
import re
import sys
from pathlib import Path

import jsonschema
import limits
import pytest
import yaml
from pillion.schema import schema_of
from pillion.stage_kinds import kind_schema
from wrong import GOOD
from wrong_configurations import ALL

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def stages_json(build, *folders):
    done = limits.run(
        [build / "bin/pillion-stages", "--json"],
        env={**os.environ, "PILLION_STAGE_PATH": ":".join(map(str, folders))},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def schema(build):
    # The stages of examples and tests that are outside the library, as far as they are built.
    return schema_of(stages_json(build, build / "examples/stage/stages"))


@pytest.fixture(scope="module")
def faults_of(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    return lambda data: [f"{e.json_path}: {e.message}" for e in validator.iter_errors(data)]


def configurations():
    """All YAML of the repository and its documentation that has analyses."""
    listed = limits.run(
        ["git", "ls-files", "*.yaml"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in listed.stdout.split()}
    for page in PAGES:
        for number, block in enumerate(FENCE.findall(page.read_text(encoding="utf-8"))):
            texts[f"{page.relative_to(ROOT)} {number}"] = block
    for name, text in texts.items():
        data = yaml.safe_load(text)
        if isinstance(data, dict) and "analyses" in data:
            yield pytest.param(data, id=name)


@pytest.mark.parametrize("data", list(configurations()))
def test_good_configurations_are_accepted(faults_of, data):
    # This one uses a stage of a project outside the repository.
    data["analyses"] = {
        name: {
            **a,
            "stages": [s for s in a["stages"] if "positive" not in s]
            or [{"statistics": {"fields": []}}],
        }
        for name, a in data["analyses"].items()
    }
    assert faults_of(data) == []


def test_the_good_one_is_accepted(faults_of):
    assert faults_of(yaml.safe_load(GOOD)) == []


def parsed(text):
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


@pytest.mark.parametrize("wrong", ALL, ids=lambda wrong: wrong.name)
def test_wrong_ones_are_refused_where_that_can_be_seen(faults_of, wrong):
    data = parsed(wrong.text())
    if data is None:
        assert not wrong.schema
    else:
        assert bool(faults_of(data)) == wrong.schema


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", [3, -1, "4", "$n"], [2.5, "two", [1]]),
        ("number", [3, 1.5, "1e-5", "inf", "$x"], ["many", [1.0]]),
        ("true | false", [True, "yes", "off", "$on"], [3, "maybe"]),
        ("linear | log", ["log", "$scale"], ["lgo", 3]),
        ("1 | 2 | 3", [1, 3, "2", "$p"], [4, "5"]),
        ("integer | auto", [4, "auto", "$n"], ["some", 1.5]),
        ("[lowest, highest] | auto", [[1, 2], "auto"], [5]),
        ("list of fields", [["a"], "a"], [{"a": 1}]),
        ("list of pairs", [[[1, 2]], [{"peak": 3}]], [[1, 2], 3]),
        ("map of lists of types", [{"O": [1]}], [[1]]),
        ("none | zip | {zfp: {a | b: …}}", ["zip", {"zfp": {"a": 1}}], ["bzip"]),
        ("none | zip; hdf5: gzip", ["anything", 3, []], []),
        ("whatever an author writes", ["anything", 3, [], {}], []),
        ("", ["anything", 3, [], {}], []),
    ],
)
def test_kinds(kind, good, bad):
    validator = jsonschema.Draft202012Validator(kind_schema(kind))
    assert [value for value in good if not validator.is_valid(value)] == []
    assert [value for value in bad if validator.is_valid(value)] == []


def keys_of(node):
    """Keys that a schema describes, at any depth, stages left out."""
    if isinstance(node, dict):
        for key, value in node.get("properties", {}).items():
            yield key
            if key != "stages":
                yield from keys_of(value)
        for key, value in node.items():
            if key != "properties":
                yield from keys_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from keys_of(value)


def test_keys_are_those_of_the_documentation(schema):
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8").split("## Stages")[0]
    listed = set()
    for cell in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", page, re.MULTILINE):
        listed |= set(re.findall(r"`(\w+)`", cell))
    listed -= {"skip", "wait", "coarsen"}  # values, in a table of their own
    # Some are in sentences about others.
    described = set(keys_of(schema)) - {"folder", "limit", "time", "count", "ratio"}
    assert described == listed


def test_every_key_and_parameter_has_a_description(schema):
    def look(node, path):
        for key, value in node.get("properties", {}).items():
            if value is not False and "allOf" not in path:
                assert value.get("description"), f"{path}/{key}"
        for key, value in node.items():
            if isinstance(value, dict) and key not in ("if", "then", "not"):
                look(value, f"{path}/{key}")

    look(schema, "")


def test_stages_as_json(build):
    stages = {stage["name"]: stage for stage in stages_json(build)}
    assert {"histogram", "write_raw", "rdf"} <= set(stages)
    assert list(stages) == sorted(stages)
    histogram = stages["histogram"]
    assert Path(histogram["file"]).name == "histogram.so"
    assert {"name": "bins", "kind": "integer", "standard": "100", "meaning": "Number of bins"} in (
        histogram["parameters"]
    )
    assert [p["standard"] for p in histogram["parameters"] if p["name"] == "field"] == [None]
    # The same as for people.
    for name in stages:
        told = limits.run(
            [build / "bin/pillion-stages", name], capture_output=True, text=True, check=True
        ).stdout
        for parameter in stages[name]["parameters"]:
            assert f"{parameter['name']}: {parameter['kind']}" in told


@pytest.fixture
def pillion(build, tmp_path):
    def run(*words):
        return limits.run(
            [sys.executable, "-m", "pillion", *map(str, words)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PILLION_BIN": str(build / "bin"),
                "PYTHONPATH": str(ROOT / "python"),
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_the_command_prints_it(pillion, build):
    done = pillion("check", "--schema")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == schema_of(stages_json(build))


def test_the_command_checks(pillion, tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD)
    good = pillion("check", "a.yaml", "--ranks", 4, "--set", "n=8")
    assert good.returncode == 0
    assert good.stdout.startswith("a.yaml: no mistakes\n")
    wrong = pillion("check", "--json", "a.yaml", "--set", "m=8")
    assert wrong.returncode == 1
    assert "'--set m=8'" in json.loads(wrong.stdout)["mistakes"][0]["message"]
    assert pillion("check").returncode == 2


def test_colours(monkeypatch):
    from pillion.command import check, paint

    monkeypatch.setattr(paint, "has_colours", lambda stream: True)
    place = check._painted("a.yaml:3: something", False)
    assert place == paint.strong("a.yaml:3: ") + "something"
    assert check._painted("      3 | a: b", False) == paint.faint("      3 | a: b")
    assert check._painted("a.yaml: 2 mistakes", False) == paint.error("a.yaml: 2 mistakes")
    assert check._painted("a.yaml: no mistakes", True) == paint.good("a.yaml: no mistakes")
    assert check._painted("analyses", True) == "analyses"
    assert check._painted("note: odd", True) == paint.note("note: ") + "odd"
