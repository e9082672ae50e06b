# SPDX-License-Identifier: BSD-3-Clause
"""The list of steps of raw files is gone through once, not once for every step that is read."""

from pathlib import Path

from pillion.datasets import raw_datasets


class CountedList(list):
    """Counts how many of its entries are looked at."""

    seen = 0

    def __iter__(self):
        for entry in super().__iter__():
            CountedList.seen += 1
            yield entry


def test_the_list_of_steps_is_read_once(tmp_path, monkeypatch):
    head = tmp_path / "grid.raw.yaml"
    head.write_text("")
    entries = CountedList({"step": n, "index": f"grid_raw/{n}.yaml"} for n in range(100))
    monkeypatch.setattr(raw_datasets, "heads", lambda path: {"steps": entries})
    monkeypatch.setattr(raw_datasets, "index_of", lambda path: path)
    CountedList.seen = 0
    for n in range(100):
        assert raw_datasets.index_at(head, n) == Path(head.parent / f"grid_raw/{n}.yaml")
    assert CountedList.seen <= 200  # and not 100 times 100
