#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the searches of test_protocol.py depend on, as one hash. The file `verified` beside this one
holds the hash for which all searches have passed, and then the tests skip all but one of them.

    python tests/model/verified.py     records that they have passed for the sources as they are
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("verified")
# The model, the code that it models, and the searches themselves.
SOURCES = [
    "src/node/*.[ch]pp",
    "src/node/protocol.pml",
    "src/policy/slots.cpp",
    "src/sidecar/sidecar_job.cpp",
    "src/simulation/publisher.cpp",
    "src/simulation/subscribers.cpp",
    "src/transport/copying_receiver.cpp",
    "src/transport/node.cpp",
    "tests/model/test_protocol.py",
]


def current() -> str:
    """The SHA-256 of all names and contents."""
    whole = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in ROOT.glob(pattern)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return whole.hexdigest()


def recorded() -> str:
    return RECORD.read_text(encoding="utf-8").strip() if RECORD.exists() else ""


if __name__ == "__main__":
    RECORD.write_text(f"{current()}\n", encoding="utf-8")
