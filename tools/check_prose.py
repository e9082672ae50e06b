#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if the documentation has sentences that a reader must read twice: long ones, words that
Pillion does not use, and sentences that put the object first. Prints each with what to do about it.
`check_prose.py` reads all pages and CODE_FOLDERS, `check_prose.py FILE …` only those files. In
Python it reads docstrings, help texts and messages of errors, in C++ messages of errors and
comments. Comments are checked for words alone, but those of public headers for length, too.

A function in READERS turns one kind of file into paragraphs; everything else works on paragraphs.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "stages/**/*.md",
    "adapters/*/README.md", "examples/*/README.md", "miniapps/*/README.md", "study/*.md",
)  # fmt: skip
CODE_FOLDERS = ("python/pillion", "include", "src", "stages", "apps")
LIMIT = 32  # words; aim at 25

# Each pattern is matched as whole words, in any case. A hint names what to write instead.
WORDS = {
    r"g(?:o(?:es|ing)?|one|went) on": "continue, resume, run",
    r"anew": "again, from scratch",
    r"who(?:m)?ever": "name the person or the process",
    r"(?:no|some)body": "name the rank, the process or the user",
    r"(?:is|are|was|were|be|been|being) (?:said|told)": "report, list, pass, set",
    r"(?:said|told) of": "describes, applies to",
    r"of (?:which|whom)": "start a new sentence",
    r"those (?:that|which|who)": "name the things",
    r"sa(?:y|ys|id) (?:what|which|how|who|where|so|it)": "define, list, report",
    r"tells? (?:what|which|how|who|where)": "define, list, report",
    r"dearer|dearest|dear": "more expensive",
    r"had better": "should",
    r"thereof|whence|whereof|therein|wherein|thither|lest|ere": "use a modern word",
    r"at hand": "available",
    r"want of": "lack of, too little",
    r"the like": "similar",
    r"how-manieth": "every n-th",
    r"(?:is|are) to be": "must, will",
    r"so many": "that many, N",
    r"(?<!there )(?:is|are) no(?! (?:longer|more|less|different|such))": "is not a",
    r"alike": "identical, in the same way",
    r"remember(?:s|ed)?": "keep, save, state",
    r"(?:is|are) worked on": "process, analyse",
    r"guests?": "attached job",
    r"crews?": "sidecar job",
    r"seats?(?! behind the rider)": "slot",
    r"lanes?": "channel",
    r"berths?|parcels?|keepsakes?|luggage|passengers?": "use the field's word",
}  # fmt: skip
OPENERS = {
    r"Of (?!course)": "put the subject first",
    r"(?:What|Who)\b": "name the subject instead of 'what' or 'who'",
    r"Where\b": "write 'If' or 'When'",
    r"(?:Not|Nor|Neither|So) (?:is|are|does|do|can|will)\b": "put the subject first",
}

# A text of help= names what the option is or does.
FRAGMENT = re.compile(r"(?:of|that|what)\b", re.IGNORECASE)

# Words with a full stop that do not end a sentence.
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|al|Fig|Eq|approx)\.$")
END = re.compile(r"[.!?][\"')*_]*(?=\s+[\"'(*_`\[]*[A-Z0-9`‘“])")
FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$\n]+\$", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+|\s*>\s?")


@dataclass(frozen=True)
class Paragraph:
    """A running text and the line on which it begins. Line breaks are kept, to count lines."""

    line: int
    text: str
    heading: bool = False
    comment: bool = False
    option: bool = False  # the help text of an option


@dataclass(frozen=True)
class Finding:
    line: int
    sentence: str
    advice: str


def blank(found: re.Match) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def plain(text: str) -> str:
    """Without markup, with as many line breaks: code becomes `code`, a link becomes its text."""
    text = CODE.sub(lambda found: "`code`" + "\n" * found.group().count("\n"), text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^<>\n]+>|https?://\S+", "", text).replace("**", "")


def markdown(text: str) -> Iterator[Paragraph]:
    """Paragraphs, list items, headings and table cells; no code, no comments."""
    text = COMMENT.sub(blank, FENCED.sub(blank, text))
    open_at, lines = 0, []
    listed = False  # indented lines after a list item belong to it
    for number, line in enumerate([*text.split("\n"), ""], 1):
        cell, item = line.lstrip().startswith("|"), ITEM.match(line)
        ends = not line.strip() or cell or item or line.startswith("#")
        if ends and lines:
            yield Paragraph(open_at, "\n".join(lines))
            lines = []
        listed = bool(item) or (listed and (not line.strip() or line.startswith(" ")))
        if cell:
            cells = re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "`code`", line))
            yield from (Paragraph(number, cell.strip()) for cell in cells if cell.strip(" -:"))
        elif line.startswith("#"):
            yield Paragraph(number, line.lstrip("# "), heading=True)
        elif line.strip() and (lines or listed or not line.startswith("    ")):
            open_at = open_at if lines else number
            lines.append(ITEM.sub("", line, count=1) if item else line)


HELP = {"help", "description", "epilog"}
SAID = {"Error", "warn", "_warn", "fail", "_fail", "_refusal", "error", "Command"}


def python(text: str) -> Iterator[Paragraph]:
    """Docstrings, the texts of argparse's options, and messages of errors."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            ast.get_docstring(node) is not None
        ):
            constant = node.body[0].value  # type: ignore[attr-defined]
            yield from _paragraphs(constant.value, constant.lineno)
        elif isinstance(node, ast.Assign) and _name_of(node.targets[0]).endswith("_EPILOG"):
            yield from _paragraphs(str(getattr(node.value, "value", "")), node.value.lineno)
        elif isinstance(node, ast.keyword) and node.arg in HELP:
            text_of = getattr(node.value, "value", None)
            if isinstance(text_of, str):
                is_option = node.arg == "help"
                yield Paragraph(node.value.lineno, text_of, heading=True, option=is_option)
        elif isinstance(node, ast.Call) and _name_of(node.func) in SAID:
            yield Paragraph(node.lineno, " ".join(map(_text_of, node.args)), heading=True)


def _name_of(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


def _text_of(node: ast.expr) -> str:
    """A text literal, with a sign for each value in it; "" for any other expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text_of(part) or " … " for part in node.values)
    return ""


# A blank line, or the break before a list item or an entry of "Args:" and its kin.
BREAK = re.compile(
    r"\n\s*\n|\n(?= *(?:-|\d+\.) )|\n(?= {4,}[a-z_]\w*(?:, \w+)*: )|(?<=:)\n(?= {8,})"
)


def _paragraphs(text: str, line: int) -> Iterator[Paragraph]:
    begin = 0
    for end, after in [*(found.span() for found in BREAK.finditer(text)), (len(text), len(text))]:
        if text[begin:end].strip():
            yield Paragraph(line + text.count("\n", 0, begin), text[begin:end])
        begin = after


# Lines that are comments as a whole and follow each other, one behind code, or one in C.
REMARK = re.compile(r"(?:^[ \t]*//.*\n)+|//.*|/\*[\s\S]*?\*/", re.MULTILINE)
MARKER = re.compile(r"^[ \t]*(?://[/!]?<?|/\*+<?|\*(?!/))|\*/", re.MULTILINE)
THROWN = re.compile(r"\b(?:Error|fail(?:_\w+)?|refuse|warn|remark|set_last_error)\(")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def cpp(text: str) -> Iterator[Paragraph]:
    """Comments, and text literals within the call that makes an error, as the reader sees them."""
    for remark in REMARK.finditer(text):
        line = text.count("\n", 0, remark.start()) + 1
        yield Paragraph(line, MARKER.sub("", remark.group()), comment=True)
    for call in THROWN.finditer(text):
        end = re.compile(r"\)\s*;").search(text, call.end())
        part = text[call.end() : end.start() if end else len(text)]
        if part.count("\n") < 12 and (message := _joined(part)):
            yield Paragraph(text.count("\n", 0, call.start()) + 1, message, heading=True)


def _joined(code: str) -> str:
    """The literals of an expression as one text, with a sign for each value between them."""
    out, end = "", None
    for found in LITERAL.finditer(code):
        between = "" if end is None else code[end : found.start()]
        out += (" … " if between.strip() else "") + found[1]
        end = found.end()
    return out


READERS: dict[str, Callable[[str], Iterator[Paragraph]]] = {
    ".md": markdown,
    ".py": python,
    ".cpp": cpp,
    ".hpp": cpp,
    ".h": cpp,
}


def sentences(paragraph: Paragraph) -> Iterator[tuple[int, str]]:
    """Each sentence with the line on which it begins."""
    text, begin = plain(paragraph.text), 0
    ends = [found.end() for found in END.finditer(text)]
    for end in [*(e for e in ends if not ABBREVIATION.search(text[:e])), len(text)]:
        sentence = text[begin:end]
        start = begin + len(sentence) - len(sentence.lstrip())
        if sentence.strip():
            yield paragraph.line + text.count("\n", 0, start), " ".join(sentence.split())
        begin = end


def count_words(sentence: str) -> int:
    return len(re.findall(r"[^\W_][\w'’.,/-]*", sentence))


def advices(
    sentence: str, heading: bool = False, comment: bool = False, public: bool = False
) -> Iterator[str]:
    words = count_words(sentence)
    if words > LIMIT and (public or not comment):
        yield f"{words} words: split it (limit {LIMIT}, aim at 25)"
    for pattern, hint in WORDS.items():
        if found := re.search(rf"\b(?:{pattern})(?!\w)", sentence, re.IGNORECASE):
            yield f"'{found.group().strip()}': {hint}"
    for pattern, hint in OPENERS.items():
        if (
            not heading
            and not comment
            and sentence.endswith((".", ":"))
            and re.match(pattern, sentence)
        ):
            yield f"opens with '{sentence.split()[0]}': {hint}"


def findings(paragraphs: Iterator[Paragraph], public: bool = False) -> Iterator[Finding]:
    """`public`: comments are documentation, and their sentences as short."""
    for paragraph in paragraphs:
        if paragraph.option and FRAGMENT.match(paragraph.text):
            yield Finding(paragraph.line, paragraph.text, "a help text names what an option is")
        for line, sentence in sentences(paragraph):
            for advice in advices(sentence, paragraph.heading, paragraph.comment, public):
                yield Finding(line, sentence, advice)


def pages() -> list[str]:
    found = {path.relative_to(ROOT).as_posix() for name in PAGES for path in ROOT.glob(name)}
    for folder in CODE_FOLDERS:
        code = (path for path in (ROOT / folder).rglob("*") if path.suffix in READERS)
        found |= {path.relative_to(ROOT).as_posix() for path in code}
    return sorted(found)


def main(names: list[str]) -> int:
    count = 0
    chosen = names or pages()
    for name in chosen:
        path = ROOT / name
        paragraphs = READERS[path.suffix](path.read_text(encoding="utf-8"))
        for found in findings(paragraphs, public=name.startswith("include/")):
            count += 1
            print(f"{name}:{found.line}: {' '.join(found.sentence.split()[:6])} …: {found.advice}")
    print(f"check_prose: {count} findings" if count else f"check_prose: {len(chosen)} pages pass")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
