# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_memory.py finds variants whose copy is undefined if it lacks memory."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_memory


@pytest.mark.parametrize(
    ("alternatives", "is_found"),
    [
        ("int64_t, double, std::string, std::vector<double>", True),
        ("std::string, std::vector<double>,\n    std::vector<std::pair<int, Part>>", True),
        ("std::monostate, const char*, std::shared_ptr<Part>", True),
        ("std::monostate, bool, double", False),
        ("std::monostate, std::string, Array, Object", False),
        ("Wait, Spill, Drop", False),
    ],
)
def test_a_variant(alternatives, is_found):
    code = f"struct Part {{ std::variant<{alternatives}> value; std::vector<int> more; }};"
    assert bool(check_memory.undefined_copies(code)) == is_found
