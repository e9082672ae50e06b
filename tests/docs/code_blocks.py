# SPDX-License-Identifier: BSD-3-Clause
"""The code blocks of the documentation, each with what its page says of it.

What is said stands in a comment on the line before the block, `<!-- … -->`, entries separated by
semicolons; docs/writing.md lists them. A block whose language is not known here fails the tests.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(p for p in ROOT.glob("docs/**/*.md") if "site" not in p.parts),
    *sorted(ROOT.glob("stages/**/*.md")),
    *sorted(ROOT.glob("adapters/*/*.md")),
    *sorted(ROOT.glob("examples/*/*.md")),
    *sorted(ROOT.glob("miniapps/*/*.md")),
]
FENCE = re.compile(r"(?:^<!-- ([^\n]*?) -->\n)?^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCENE = re.compile(r"^<!-- scene (\w+) -->$", re.MULTILINE)
RUN = {"sh", "console", "python"}  # in the scratch folder of the page, in order
COMPILED = {"c", "cpp", "fortran", "cmake", "make", "diff"}
SHOWN = {"text", "mermaid"}  # output, formulas, inputs of other programs; pictures
PROMPT = "$ "  # before a command of a console block
WORDS = {
    "from",  # FILE [REGION]: the block is part of that file, which is built or run elsewhere
    "lines",  # of FILE: the same, but its lines stand apart there
    "within",  # FILE: the block takes the place of the line `block` in that program
    "file",  # NAME: the block is that file, for the commands of the page
    "completed",  # by FILE: an incomplete configuration, the rest of which is there
    "beside",  # COMMAND: it is running while the block is run
    "interrupted",  # Ctrl-C is pressed when it has said something
    "installs",  # takes long: run where PILLION_TEST_ALL is set
    "awaited",  # WHAT: is not run yet, since that is not there
}


@dataclass(frozen=True)
class Block:
    """`said` maps the first word of each entry to the rest of it."""

    page: Path
    line: int
    language: str
    text: str
    said: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def patched(diff: str) -> str:
    """The program that a block in the language `diff` leads to."""
    return "".join(line[1:] for line in diff.splitlines(True) if not line.startswith("-"))


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        entries = [entry.strip() for entry in (match[1] or "").split(";") if entry.strip()]
        said = {entry.split()[0].strip(":"): entry.partition(" ")[2] for entry in entries}
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Block(page, line, match[2], match[3], said))
    return found


def scene_of(page: Path) -> str | None:
    """What must be in the page's scratch folder before its first block is run."""
    match = SCENE.search(page.read_text(encoding="utf-8"))
    return match[1] if match else None


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]


def source_of(origin: str) -> str:
    """The text of `FILE` or `FILE [REGION]`, a region lying between two lines that hold it."""
    match = re.fullmatch(r"(\S+)(?: \[(\w+)\])?", origin)
    assert match, f"'{origin}' does not say where the code is from"
    text = (ROOT / match[1]).read_text(encoding="utf-8")
    if match[2] is None:
        return text
    parts = re.split(rf"^.*\[{match[2]}\]\n", text, flags=re.MULTILINE)
    assert len(parts) == 3, f"{match[1]} has no region [{match[2]}]"
    return parts[1]


def without_comments(text: str) -> str:
    """Comments at the ends of commands explain; some shells would take them for words."""
    return re.sub(r"(^|\s{2,})#.*$", "", text, flags=re.MULTILINE)


def typed(block: Block) -> list[tuple[str, str]]:
    """Each command of a console block, and the output that is printed below it."""
    parts: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith(PROMPT):
            parts.append((without_comments(line.removeprefix(PROMPT)), ""))
        else:
            assert parts, f"{block.place}: a console block begins with '{PROMPT}'"
            command, printed = parts[-1]
            parts[-1] = (command, printed + line + "\n")
    return parts


def compare(block: Block, printed: str, found: str) -> None:
    """Where nothing is printed, anything may be said."""
    if printed.strip():
        parts = re.split(r"\s*(?:…|\.\.\.)\s*", " ".join(printed.split()))
        words = [re.escape(part) for part in parts]
        pattern = ".*".join(word.replace(r"\ ", " ") for word in words)
        assert re.fullmatch(pattern, " ".join(found.split()), re.DOTALL), (
            f"{block.place}: printed is\n{printed}\nbut it is\n{found}"
        )
