# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_sizes.py: what its measures count in small files, and what its list of exceptions
allows.
"""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
pytest.importorskip("tree_sitter_cpp", reason="it is installed by `make lint`")
import check_sizes  # noqa: E402
from sizes import Found, cpp, files, python_code  # noqa: E402

HEADER = """
#pragma once
#include "b.hpp"
namespace n {
class Door {
 public:
  Door();
  Door(const Door&) = delete;
  ~Door();
  int open(int a, const std::vector<int>& b = {}) const;
  template <class T> void close(T how) { (void)how; }
  friend void knock(Door& door);
  friend class House;
  bool operator==(const Door&) const = default;

 private:
  struct Lock { int pins; void turn(); };
  std::function<void(int)> bell_;
  int* key_;
  int width_, height_{3};
  static constexpr int most = 3;
};
void slam(Door& door, int force);
double area(const Door& door);
class Window {
 public:
  virtual ~Window() = default;
  virtual void open() = 0;
  virtual bool fits(int size) { return size > 0; }
};
}
"""
SOURCE = """
#include "a.hpp"
namespace n {
Door::Door() {}
int Door::open(int a, const std::vector<int>& b) const {
  return a;
}
void wide(int a, int b, int c, int d, int e, int f, void (*g)(int)) {
  queue.wait(lock);
  int one, two, three, four, five;
  // This is why.
  queue.wait(lock);
  flag.load(std::memory_order_relaxed);  // and this
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
}
"""


def measured(tmp_path, measure, **texts) -> dict[tuple[str, str], int]:
    paths = []
    for name, text in texts.items():
        paths.append(tmp_path / name.replace("_", "."))
        paths[-1].write_text(text)
    return {(f.rule, f.place): f.number for f in measure(paths, tmp_path) if f.number}


def test_classes(tmp_path):
    found = measured(tmp_path, cpp.measure, a_hpp=HEADER, a_cpp=SOURCE, b_cpp=SOURCE)
    # A constructor, two methods, a friend and a function that may change it.
    assert found["methods", "a.hpp:Door"] == 5
    assert found["members", "a.hpp:Door"] == 4
    assert found["methods", "a.hpp:Door::Lock"] == found["members", "a.hpp:Door::Lock"] == 1
    assert found["interface", "a.hpp:Window"] == 2
    assert found["sources", "a.hpp:Door"] == 2
    assert ("interface", "a.hpp:Door") not in found


def test_functions_and_waits(tmp_path):
    found = measured(tmp_path, cpp.measure, a_cpp=SOURCE)
    assert found["parameters", "a.cpp:wide"] == 7
    assert found["lines", "a.cpp:wide"] == 8 and found["lines", "a.cpp:Door::open"] == 3
    assert found["waits", "a.cpp"] == 1
    (tmp_path / "src/comm").mkdir(parents=True)
    (tmp_path / "src/comm/a.cpp").write_text(SOURCE)
    kept = cpp.measure([tmp_path / "src/comm/a.cpp"], tmp_path)
    assert "waits" not in {one.rule for one in kept}


def test_files(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/c.hpp").write_text("")
    (tmp_path / "b.hpp").write_text('#include "c.hpp"\n#include <vector>\n')
    (tmp_path / "a.hpp").write_text('#include "b.hpp"\n#include "none.hpp"\n')
    found = measured(tmp_path, files.headers_behind, a_cpp='#include "a.hpp"\n')
    assert found == {("headers", "a.cpp"): 3}
    assert measured(tmp_path, files.lengths, a_cpp="x\n" * 700, b_cpp="\n") == {
        ("long", "a.cpp"): 700,
        ("long", "b.cpp"): 1,
        ("slivers", "per-cent"): 50,
    }


def test_paths_in_comments(tmp_path):
    text = '// As a.cpp and src/c.hpp have it, not src/d.hpp; see gone.md.\nauto x = "lost.cpp";\n'
    (tmp_path / "src").mkdir()
    (tmp_path / "src/c.hpp").write_text("")

    def measure(paths, root):
        return files.missing_paths(paths, root, {"a.cpp": 1})

    assert measured(tmp_path, measure, a_cpp=text, b_py="x = 'gone.md'  # gone.md\n") == {
        ("paths", "a.cpp"): 2,
        ("paths", "b.py"): 1,
    }


def test_python(tmp_path):
    text = """
class A:
    x: int
    def __init__(self, a, b, *, c): self.y = a
    def __len__(self): return 1
    @staticmethod
    def f(a, b, c): return a
"""
    found = measured(tmp_path, python_code.measure, a_py=text)
    assert found["methods", "a.py:A"] == 2 and found["members", "a.py:A"] == 2
    assert found["parameters", "a.py:A.__init__"] == 2 and found["parameters", "a.py:A.f"] == 3


def test_the_list_may_only_shrink():
    found = {("methods", "a.hpp:A"): Found("methods", "a.hpp:A", 30, 7)}

    def faults(number):
        return check_sizes.faults(found, {("methods", "a.hpp:A"): number})

    assert faults(30) == []
    without = check_sizes.faults(found, {})[0]
    assert "30 methods" in without and "(at most 25)" in without
    assert "(listed with 29)" in faults(29)[0]
    assert "lower it" in faults(31)[0]
    gone = {("long", "b.cpp"): 700, ("methods", "a.hpp:A"): 30}
    assert check_sizes.faults(found, gone) == [
        "tools/sizes.txt: 'long b.cpp' is not needed any more: remove it"
    ]
    assert check_sizes.lowered(found, {**gone, ("methods", "a.hpp:A"): 40}) == {
        ("methods", "a.hpp:A"): 30
    }
