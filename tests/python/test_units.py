# SPDX-License-Identifier: BSD-3-Clause
"""Units and quantities as people read them."""

import pytest
from pillion import units


@pytest.mark.parametrize(
    ("text", "math", "html"),
    [
        ("Å^2/fs", "Å$^{2}$/fs", "Å<sup>2</sup>/fs"),
        ("kg m^-3", "kg m$^{-3}$", "kg m<sup>−3</sup>"),
        ("(km/s)^2", "(km/s)$^{2}$", "(km/s)<sup>2</sup>"),
        ("g*cm^(-1.5)", "g·cm$^{-1.5}$", "g·cm<sup>−1.5</sup>"),
        ("a<b", "a<b", "a&lt;b"),
        ("", "", ""),
    ],
)
def test_superscripts(text, math, html):
    assert units.as_math(text) == math
    assert units.as_html(text) == html


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (2.4e-5, "Å^2/fs", 0.24),  # 1 Å²/fs = 1e-20 m² / 1e-15 s = 1e-5 m²/s
        (1.0, "Å^2/ps", 10.0),
        (1.0, "cm^2/s", 1e5),
        (2.3, "nm^2/ns", 2.3),
        (1.0, "Å^2", None),
        (1.0, "σ^2/τ", None),
    ],
)
def test_diffusion(value, unit, expected):
    assert units.diffusion_in_si(value, unit) == (
        None if expected is None else pytest.approx(expected, rel=1e-12)
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2.5e-7, "0.25 µs"),
        (0.0412, "41.2 ms"),
        (12.3, "12.3 s"),
        (605, "10 min 5 s"),
        (7322, "2 h 2 min"),
    ],
)
def test_seconds(value, text):
    assert units.seconds(value) == text


def test_sizes_and_shares():
    assert units.size(1023) == "1023 B"
    assert units.size(7 * 2**20) == "7 MiB"
    assert units.size(3 * 2**50) == "3072 TiB"
    assert units.percent(1, 8) == "12.5 %"
    assert units.percent(1e-9, 1) == "< 0.01 %"
    assert units.percent(1, 0) == ""


def test_numbers():
    assert units.number(1.31e-05) == "1.31×10<sup>−5</sup>"
    assert units.number(2.1161e-4) == "2.116×10<sup>−4</sup>"
    assert units.number(-1e-7) == "−1×10<sup>−7</sup>"
    assert units.number(0.0) == "0"
    assert units.number(-2.5) == "−2.5"
    assert units.number("<b>") == "&lt;b&gt;"
    assert units.count(1234567) == "1\u202f234\u202f567"


def test_steps_are_called_by_their_redshift_where_it_is_known():
    assert units.moment(20, 0.25, "scale factor") == "z = 3"
    assert units.moment(100, 1.0, "scale factor") == "z = 0"
    assert units.moment(3, 2.5, "redshift") == "z = 2.5"
    assert units.moment(7, 2.5, "fs") == "step 7"
