# SPDX-License-Identifier: BSD-3-Clause
"""A page says of an analysis that could run on either side where it did, and how often it moved."""

import json

from pillion import make_report
from sample import make_sample


def test_where_it_ran(tmp_path):
    folder = make_sample(tmp_path).folder
    path = folder / "report.json"
    report = json.loads(path.read_text())
    move = {"step": 50, "to": "sidecar", "after_seconds": 1.5, "seconds": 0.01, "why": "dearer"}
    report["analyses"][0] |= {
        "placement": "auto",
        "publications_at": {"simulation": 17, "sidecar": 23},
        "moves": [move] * 3,
    }
    path.write_text(json.dumps(report))
    page = make_report(folder).path
    text = page.read_text(encoding="utf-8")
    assert "auto: 17 publications in the simulation, 23 in the sidecars, 3 moves" in text
