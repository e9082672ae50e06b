# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the raw Fortran modules declare what the C header does: every function with as many
arguments of the same kinds, every constant with its value, every struct member by member. Functions
that take an MPI_Comm have no twin.

Usage: compare_with_header.py INCLUDE_FOLDER MODULE...
"""

import re
import sys
from pathlib import Path

# A C type as the Fortran type that is passed for it; by value, or by reference where it says so.
KINDS = {
    "int32_t": "integer(c_int32_t), value",
    "int64_t": "integer(c_int64_t), value",
    "double": "real(c_double), value",
    "size_t": "integer(c_size_t), value",
    "MPI_Fint": "integer(c_int), value",
    "pillion_role": "integer(c_int32_t), value",
    "pillion_type": "integer(c_int32_t), value",
    "pillion_components": "integer(c_int32_t), value",
    "pillion_log_handler": "type(c_funptr), value",
    "const char*": "character(kind=c_char) array",
    "const int64_t*": "integer(c_int64_t) array",
    "const double*": "real(c_double) array",
    "int32_t*": "integer(c_int32_t) reference",
    "const pillion_view*": "type(pillion_view) reference",
    "const pillion_domain*": "type(pillion_domain) reference",
    "const pillion_points*": "type(pillion_points) reference",
    "const pillion_cells*": "type(pillion_cells) reference",
    "const pillion_arrays*": "type(pillion_arrays) reference",
    "pillion_progress*": "type(pillion_progress) reference",
    "pillion_field*": "type(c_field) reference",
}
MEMBERS = {
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "double": "real(c_double)",
    "size_t": "integer(c_size_t)",
    "pillion_type": "integer(c_int32_t)",
    "pillion_mesh_kind": "integer(c_int32_t)",
    "pillion_centering": "integer(c_int32_t)",
    "const char*": "type(c_ptr)",
    "const void*": "type(c_ptr)",
    "const void* const*": "type(c_ptr)",
    "const uint8_t*": "type(c_ptr)",
    "const int32_t*": "type(c_ptr)",
    "const int64_t*": "type(c_ptr)",
}
ALSO_STRUCTS = {"pillion_field": "c_field"}


def kind_in_c(argument: str) -> str:
    kind = re.sub(r"\s*\b\w+$", "", argument.strip()).replace(" *", "*")
    if kind.endswith("**"):
        return "type(c_ptr) reference"
    if argument.strip().endswith("* views"):
        return "type(pillion_view) array"
    if kind not in KINDS and kind.endswith("*"):
        return "type(c_ptr), value"
    return KINDS[kind]


def functions_in_c(text: str) -> dict[str, list[str]]:
    text = re.sub(r"/\*.*?\*/|^#.*?(?<!\\)$", " ", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"\b(\w+)\b[ *]+\b(pillion_\w+)\(([^()]*)\);", text)
    return {
        name: [] if arguments == "void" else [kind_in_c(a) for a in arguments.split(",")]
        for kind, name, arguments in found
        if "MPI_Comm" not in (kind, *re.findall(r"\w+", arguments))
    }


def joined(text: str) -> str:
    return re.sub(r"&\s*\n\s*", "", re.sub(r"!.*", "", text))


def kind_in_fortran(declared: str, name: str) -> str:
    kind = declared.split(",")[0]
    if "value" in declared:
        return f"{kind}, value"
    return kind + (" array" if name.endswith("(*)") else " reference")


def functions_in_fortran(text: str) -> dict[str, list[str]]:
    found = {}
    form = (
        r"(?:function|subroutine) c_\w+\(([^)]*)\)[^\n]*name='(\w+)'\)\n(.*?)end (?:function|sub)"
    )
    for arguments, name, body in re.findall(form, joined(text), flags=re.DOTALL):
        kinds = {}
        for declared, names in re.findall(r"^ *(.*?) :: (.*)$", body, flags=re.MULTILINE):
            if not declared.startswith("import"):
                for one in names.split(","):
                    kinds[one.strip().removesuffix("(*)")] = kind_in_fortran(declared, one.strip())
        found[name] = [kinds[a.strip()] for a in arguments.split(",") if a.strip()]
    return found


def structs_in_c(text: str) -> dict[str, list[str]]:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    found = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.DOTALL):
        members = re.findall(r"((?:const )?\w+(?:\* const)?\*?)\s+(\w+)(?:\[(\d+)\])?;", body)
        found[ALSO_STRUCTS.get(name, name)] = [
            f"{MEMBERS[kind]} {member}{f'({size})' if size else ''}"
            for kind, member, size in members
        ]
    return found


def structs_in_fortran(text: str) -> dict[str, list[str]]:
    found = {}
    types = re.findall(r"type, bind\(C\) :: (\w+)\n(.*?)end type", joined(text), flags=re.DOTALL)
    for name, body in types:
        found[name] = [f"{kind} {member}" for kind, member in re.findall(r"(\S+) :: (\S+) =", body)]
    return found


def constants(enumerations: list[str]) -> dict[str, int]:
    found = {}
    for body in enumerations:
        value = -1
        for entry in re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).split(","):
            name, _, given = (part.strip() for part in entry.partition("="))
            value = int(given) if given else value + 1
            found[name.lower()] = value
    return found


def main() -> int:
    folder, *modules = map(Path, sys.argv[1:])
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    header = "".join((folder / name).read_text("utf-8") for name in ("types.h", "pillion.h"))
    in_fortran = re.findall(r"enumerator :: (.*?)\n", joined(text))
    pairs = [
        (functions_in_c(header), functions_in_fortran(text)),
        (structs_in_c(header), structs_in_fortran(text)),
        (constants(re.findall(r"\benum \{(.*?)\};", header, re.DOTALL)), constants(in_fortran)),
    ]
    different = 0
    for c, fortran in pairs:
        assert len(c) > 3, "found next to nothing; has the form of the header changed?"
        for name in sorted(c | fortran):
            if c.get(name) != fortran.get(name):
                different += 1
                print(f"{name}\n  C:       {c.get(name)}\n  Fortran: {fortran.get(name)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
