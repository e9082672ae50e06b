# SPDX-License-Identifier: BSD-3-Clause
"""Reference pages of C and C++ headers as reStructuredText: what each header is for, its sections,
and every declaration with its comment. Names of the interface in comments become links.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from declarations import INCLUDE, Declaration, read_header

WORD = re.compile(r"\b(pillion_\w+)(?=\(| *\)|$)")
SECTION = re.compile(r"^/\* -{4} (.*?) -+ \*/\n(?:/\* (.*?)\*/\n)?", re.MULTILINE | re.DOTALL)


def page(title: str, names: list[str]) -> str:
    """One page for several headers."""
    parts = [_heading(title, "=")]
    for name in names:
        language = "c" if name.endswith(".h") else "cpp"
        parts += [_heading(f"``<pillion/{name}>``", "-"), *_header(name, language)]
    return "\n".join(parts)


def _header(name: str, language: str) -> Iterable[str]:
    text, found = read_header(name)
    yield prose(_about(text))
    sections = [(text.count("\n", 0, m.start()) + 1, m) for m in SECTION.finditer(text)]
    found = list(_with_values(found))
    for made, after in zip(found, [None, *found]):
        begun = after.lines[0] if after is not None else 0
        for line, match in sections:
            if begun < line < made.lines[0]:
                yield _heading(match[1].capitalize(), "~")
                yield prose(_plain(match[2] or ""))
        if language == "cpp" and made.kind != "macro":
            yield f".. cpp:namespace:: {made.scope or 'NULL'}\n"
        yield from _declared(made, language)


def _with_values(found: list[Declaration]) -> Iterator[Declaration]:
    """The C way of saying enum and its type in turn becomes one type that has these values."""
    for made, after in zip(found, [*found[1:], None]):
        nameless = made.kind == "enum" and not made.name
        if nameless and after is not None and after.signatures[0].startswith("int32_t "):
            after.parts, after.comment = made.parts, made.comment
        else:
            yield made


def _about(text: str) -> str:
    """The comment at the head of the file, below the licence."""
    comments = re.match(r"((//|/\*|\s\*).*\n)+", text)
    assert comments is not None
    return _plain(comments[0].split("\n", 1)[1])


def _plain(comment: str) -> str:
    lines = [re.sub(r"^\s*(//|/\*|\*(?!/))?\s?", "", line) for line in comment.split("\n")]
    return "\n".join(lines).replace("*/", "").strip()


def _declared(made: Declaration, language: str) -> Iterable[str]:
    if made.kind == "enum" and not made.name:
        yield prose(made.comment)
        yield from _values(made)
        return
    kind, shown, body = made.kind, made.signatures, [prose(made.comment)]
    if kind == "concept":
        shown, rule = _concept(shown[0])
        body += [f"``{rule}``\n"]
    directive = f".. {'c' if kind == 'macro' else language}:{kind}:: "
    yield directive + ("\n" + " " * len(directive)).join(shown) + "\n"
    if kind == "type" and made.parts:
        body += _values(made)
    else:
        body += [line for part in made.parts for line in _declared(part, language)]
    yield _indented("\n".join(body))


def _concept(signature: str) -> tuple[list[str], str]:
    """Its head, and what it asks for."""
    head, _, rule = signature.partition(" = ")
    return [head.replace("> concept ", "> ")], rule


def _values(made: Declaration) -> Iterable[str]:
    """A table of the constants of an enumeration."""
    said = any(part.comment for part in made.parts)
    yield ".. list-table::\n   :class: values\n   :widths: auto\n"
    for part in made.parts:
        name, _, value = part.signatures[0].partition(" = ")
        yield f"   * - ``{name}``\n     - {value}"
        if said:
            yield f"     - {' '.join(prose(part.comment).split())}"
    yield ""


def prose(comment: str) -> str:
    """A comment as reStructuredText."""
    text = re.sub(r"\[((?:collective|peers|called)[^\]]*)\]", r":agreed:«\1»", comment)
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(_code(p) if p.startswith("`") else _words(p) for p in parts) + "\n"


def _code(quoted: str) -> str:
    return f"`{quoted}`\\ "


def _words(text: str) -> str:
    text = re.sub(r"([\\*|])", r"\\\1", text)
    text = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", text)
    text = re.sub(r"(?<!\w)(pillion_[a-z_]+\w)(\(\))?(?!\w)", _linked, text)
    return re.sub(r":agreed:«(.*?)»", lambda m: f":agreed:`{m[1].replace('`', '')}`", text)


def _linked(word: re.Match[str]) -> str:
    kind = _roles().get(word[1])
    return f":c:{kind}:`{word[1]}`" if kind else f"`{word[1]}`"


@cache
def _roles() -> dict[str, str]:
    """Everything that a C header declares, and the role that links to it."""
    roles = {"function": "func", "struct": "struct", "type": "type", "macro": "macro"}
    names = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))
    found = [made for name in names for made in read_header(name)[1] if made.kind in roles]
    words = [
        (word, made) for made in found for one in made.signatures for word in WORD.findall(one)
    ]
    return {word: roles[made.kind] for word, made in words[::-1]}


def _heading(title: str, mark: str) -> str:
    return f"{title}\n{mark * (len(title) + 2)}\n"


def _indented(text: str) -> str:
    return "\n".join("   " + line if line else "" for line in text.split("\n"))
