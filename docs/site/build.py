# SPDX-License-Identifier: BSD-3-Clause
"""Builds the site: `python docs/site/build.py FOLDER`. Ends with status 1 on any warning, such as a
link that leads nowhere.
"""

import sys
from pathlib import Path

from assemble import assemble
from sphinx.cmd.build import main


def build(folder: Path) -> int:
    """HTML in `folder`; what it is made from, and what Sphinx remembers, beside it."""
    pages = folder.with_name(folder.name + "-pages")
    assemble(pages)
    remembered = folder.with_name(folder.name + "-doctrees")
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(Path(__file__).parent)]
    return main([*options, "-d", str(remembered), str(pages), str(folder)])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: build.py FOLDER")
    sys.exit(build(Path(sys.argv[1]).resolve()))
