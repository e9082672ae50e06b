# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion replay` makes of its command line, of snapshots.yaml and of a run's report."""

import json

import pytest
from costly_yaml import COSTLY
from pillion.errors import Error
from pillion.replay.options import read_options
from pillion.replay.program import faults_in
from pillion.replay.snapshots import About, add, gather_about, parse_about


def test_a_whole_command_line():
    words = "--set n=64 a.npy --name gas=rho --axes xyz b --domain stars=1,2.5,3"
    words += (
        " --time-per-step 0.5 --about x.yaml --output here --set e=a=b --steps 7,-2..30,9 c.yml"
    )
    options = read_options(words.split())
    assert options.files == ["a.npy", "b"] and options.configuration == "c.yml"
    assert options.parameters == {"n": "64", "e": "a=b"} and options.names == {"gas": "rho"}
    assert options.order == "xyz" and read_options(["a.npy", "b.yaml"]).order == "zyx"
    assert options.domains["stars"].hi == (1, 2.5, 3) and options.domains["stars"].periodic[2]
    assert options.time_per_step == 0.5 and options.about == "x.yaml" and options.output == "here"
    assert options.steps == [(7, 7), (-2, 30), (9, 9)]
    assert options.ranks is None and options.rest == words.split()
    assert read_options(["a", "-h"]).help


@pytest.mark.parametrize("words", ["-n 3 --set -n=2 a c.yaml", "--set -n=2 a -n3 c.yaml"])
def test_ranks_are_for_the_launcher_alone(words):
    options = read_options(words.split())
    assert options.ranks == 3 and options.rest == ["--set", "-n=2", "a", "c.yaml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which files, and which configuration"),
        (["c.yaml"], "no files to replay"),
        (["c.yaml", "a.npy"], "the last word is the configuration, a .yaml file; found 'a.npy'"),
        (["--sit", "a", "c.yaml"], "there is no option '--sit'; there are -n --about --axes"),
        (["-n", "0", "a", "c.yaml"], "-n needs a number of ranks, found '0'"),
        (["a", "c.yaml", "--set"], "--set needs a value"),
        *((["--set", odd, "a", "c.yaml"], "--set needs NAME=VALUE") for odd in ("n", "=4", "n=")),
        (["--axes", "yxz", "a", "c.yaml"], "--axes is zyx or xyz, found 'yxz'"),
        (["--time-per-step", "1s", "a", "c.yaml"], "needs a number, found '1s'"),
        *(
            (["--steps", odd, "a", "c.yaml"], "--steps needs numbers and ranges")
            for odd in ("", "a", "1,,2", "1..", "..2", "1..2..3", "1-2")
        ),
        *(
            (["--domain", f"m={odd}", "a", "c.yaml"], "is not a box|needs a number")
            for odd in ("1,2", "1,2,3,4", "1,2,", "1,-2,3", "1,nan,3", "a,b,c")
        ),
    ],
)
def test_words_that_make_no_sense(words, said):
    with pytest.raises(Error, match=said):
        read_options(words)


def test_what_is_said_about_files():
    about = parse_about(
        "parameters: {cells: 64, mass: 1.25e-3, name: of stars, one: 010}\n"
        "domains:\n"
        "  gas: {length: [1, 2, 3], periodic: true}\n"
        "  ions: {origin: [-1, 0, 1], length: [2, 2, 2], tilt: [0.5, 0, 0], periodic: [yes, no, "
        "no]}\n"
        "steps:\n"
        "  0: {time: 0.5}\n"
        "  20: {time: 15e-1, domains: {gas: {length: [4, 4, 4]}}}\n"
        "  40: {}\n",
        "f",
    )
    texts = {"cells": "64", "mass": "1.25e-3", "name": "of stars", "one": "010"}
    assert about.parameters == texts
    gas, ions = about.domains["gas"], about.domains["ions"]
    assert (gas.lo, gas.hi, gas.periodic) == ((0, 0, 0), (1, 2, 3), (True, True, True))
    assert (ions.lo, ions.hi, ions.tilt) == ((-1, 0, 1), (1, 2, 3), (0.5, 0, 0))
    assert ions.periodic == (True, False, False)
    assert [about.steps[n].time for n in (0, 20, 40)] == [0.5, 1.5, None]
    of_step = about.steps[20].domains["gas"]
    assert of_step.hi == (4, 4, 4) and of_step.periodic == (False, False, False)


def test_a_file_that_has_only_been_begun():
    assert parse_about("parameters: {cells: 4}\nsteps:\n", "f").steps == {}
    assert parse_about("steps: {3: {scalars: {a: .5}}}", "f").steps[3].scalars == {"a": 0.5}


def test_a_step_that_is_there_twice_and_the_same():
    """A run may write a snapshot again."""
    assert len(parse_about("steps:\n  1: {time: 1}\n  1: {time: 1}\n", "f").steps) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parameter: {}\n", "f:1: unknown key 'parameter' in this file; known: domains parameters"),
        ("a: [\n", "f:2: not valid YAML"),
        ("[1]\n", "f:1: this file must be a map"),
        ("", "f:1: this file must be a map"),
        ("parameters: {a: [1]}\n", "f:1: expected a single value, found a list"),
        ("steps: {now: {time: 1}}\n", "expected the number of a step, found 'now'"),
        ("steps: {1: {scalars: {a: b}}}\n", "expected a number, found 'b'"),
        ("steps: {1: {time: soon}}\n", "expected a time, found 'soon'"),
        ("steps: {1: {tme: 1}}\n", "unknown key 'tme' in step 1"),
        ("steps:\n  1: {time: 1}\n  1: {time: 2}\n", "f:3: step 1 is there twice"),
        ("domains: {gas: {origin: [0, 0, 0]}}\n", "three positive numbers"),
        ("domains: {gas: {length: [1, 1]}}\n", "a list of three numbers"),
        ("domains: {gas: {length: [1, 1, 1], periodic: [true]}}\n", "one entry per axis"),
        ("domains: {gas: {length: [1, 1, 1], periodic: maybe}}\n", "true or false, found 'maybe'"),
    ],
)
def test_what_is_said_and_makes_no_sense(text, said):
    with pytest.raises(Error, match=said):
        parse_about(text, "f")


@pytest.mark.parametrize("name", COSTLY)
def test_text_that_would_starve_its_reader(tmp_path, name):
    (tmp_path / "snapshots.yaml").write_bytes(COSTLY[name][0])
    with pytest.raises(Error, match=r"snapshots\.yaml"):
        gather_about([str(tmp_path)], "")


def test_files_add_up_unless_they_contradict():
    def about() -> About:
        return parse_about("parameters: {a: 1}\nsteps: {0: {time: 0}}\n", "f")

    whole = about()
    more = "parameters: {a: 1, b: 2}\ndomains: {gas: {length: [1, 1, 1]}}\nsteps: {1: {time: 3}}\n"
    add(whole, parse_about(more, "g"), "g")
    assert len(whole.parameters) == 2 and len(whole.domains) == 1 and whole.steps[1].time == 3
    others = ("parameters: {a: 2}\n", "domains: {gas: {length: [1, 1, 2]}}\n")
    for other in (*others, "steps: {1: {time: 4}}\n"):
        with pytest.raises(Error, match="'g' contradicts another file"):
            add(whole, parse_about(other, "g"), "g")


def test_a_report_tells_what_failed_and_what_is_missing():
    analyses = [
        {"name": "good", "skipped": 0, "dropped": 0, "disabled": None},
        {"name": "bad", "skipped": 0, "disabled": 'no "room"'},
        {"name": "thin", "skipped": 2, "lost": 1, "disabled": None},
    ]
    assert faults_in(json.dumps({"analyses": analyses})) == [
        "analysis 'bad' failed: no \"room\"",
        "analysis 'thin' lacks steps: 2 skipped",
        "analysis 'thin' lacks steps: 1 lost",
    ]
    assert faults_in('{"analyses": []}') == [] == faults_in("")
