# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_collectives.py sees a collective wherever it stands, and passes on this tree."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
checker = runpy.run_path(str(ROOT / "tools/check_collectives.py"))

SOURCE = """
int64_t Shared::count() const {
  // run.side.reduced(1) in a comment is none
  return cells_;
}

int64_t Shared::sum(const Run& run) {
  std::vector<int64_t> all(run.side.size());
  run.side.gather_all(cells_, all);
  return run.side.reduced<int64_t>(cells_, Operation::Sum);
}

void hand_out(const Communicator& peers, Bytes& bytes) { peers.broadcast(bytes, 0); }

void agree(const Communicator& peers) {
  comm::together(peers, [] {});
}
"""


def test_functions_with_collectives_are_found_once_each():
    assert checker["functions_with_collectives"](SOURCE) == ["Shared::sum", "hand_out"]


def test_all_that_there_are_have_a_reason():
    assert checker["main"]() == 0
    reasons, catches = checker["listed"]()
    assert len(reasons) > 40 and all(reasons.values())
    assert all(count > 0 for count in catches.values())
