# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks sit, and which of them become sidecars."""

from collections.abc import Sequence

class Location:
    """Where a rank sits; numbers count within the node, -1: unknown."""

    def __init__(self) -> None: ...
    @property
    def node(self) -> int: ...
    @node.setter
    def node(self, arg: int, /) -> None: ...
    @property
    def package(self) -> int: ...
    @package.setter
    def package(self, arg: int, /) -> None: ...
    @property
    def numa(self) -> int: ...
    @numa.setter
    def numa(self, arg: int, /) -> None: ...
    @property
    def cache(self) -> int: ...
    @cache.setter
    def cache(self, arg: int, /) -> None: ...
    @property
    def core(self) -> int: ...
    @core.setter
    def core(self, arg: int, /) -> None: ...
    @property
    def column(self) -> int: ...
    @column.setter
    def column(self, arg: int, /) -> None: ...
    @property
    def row(self) -> int: ...
    @row.setter
    def row(self, arg: int, /) -> None: ...
    def __copy__(self) -> Location: ...

class Core:
    """A core: its location on node 0, and its hardware threads."""

    @property
    def location(self) -> Location: ...
    @property
    def cpus(self) -> list[int]:
        """the operating system's numbers"""

class Shape:
    """A node: cores in hwloc's logical order."""

    @property
    def cores(self) -> list[Core]: ...
    @property
    def packages(self) -> int: ...
    @property
    def domains(self) -> int:
        """of memory"""

    @property
    def columns(self) -> int:
        """of the mesh that joins the cores; 0 if not known"""

    @property
    def rows(self) -> int: ...
    def put_on_mesh(self, columns: int, rows: int) -> None:
        """
        Puts the cores on a mesh, row by row. Raises Error if there are more or fewer.
        """

class Placement:
    """Who is a sidecar, and who hands over to whom."""

    @property
    def sidecars(self) -> list[int]:
        """indices of locations, ascending"""

    @property
    def server(self) -> list[int]:
        """for each location that of its sidecar; -1 for sidecars"""

    @property
    def cost(self) -> float:
        """in hand-overs times levels"""

    @property
    def mapping(self) -> str: ...

def this_node() -> Shape:
    """The node of this process, as far as it may use it."""

def node_of_file(path: str) -> Shape:
    """As a file of hwloc's describes it."""

def node_of_text(text: str) -> Shape:
    """As hwloc's synthetic texts, or mesh:CxR."""

def distance(a: Location, b: Location) -> int:
    """Levels, or hops on a mesh."""

def mappings() -> list[str]: ...
def place(locations: Sequence[Location], ranks: int, per_node: int, mapping: str) -> Placement:
    """
    Places sidecars as a session does: `ranks` in all or `per_node` on every node.
    """

def chosen(locations: Sequence[Location], count: int, mapping: str) -> list[int]:
    """Indices of the locations that one of the four rules takes."""
