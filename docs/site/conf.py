# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the site of the pages that assemble.py has put together. Nothing is loaded from
elsewhere, and every warning is an error (build.py).
"""

import re
import sys
from pathlib import Path

from docutils import nodes

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]

project = "Pillion"
release = version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
author = "the Pillion authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
default_role = "code"
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "deflist"]
suppress_warnings = ["myst.header"]  # sections of comments in headers may begin anywhere

autodoc_typehints = "signature"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False
c_id_attributes = cpp_id_attributes = ["PILLION_API"]

html_theme = "furo"
html_title = "Pillion"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_favicon = str(Path(__file__).parent / "static/pillion.svg")
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {
    "light_logo": "pillion.svg",
    "dark_logo": "pillion.svg",
    "light_css_variables": {
        "color-brand-primary": "#1f6fc4",
        "color-brand-content": "#1f6fc4",
        "color-brand-visited": "#5b4fb0",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6db3f8",
        "color-brand-content": "#6db3f8",
        "color-brand-visited": "#a99df0",
    },
}
pygments_style = "tango"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r"^\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"


def _as_plain_text(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Docstrings are plain text but for code in backticks: a star is a star."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        plain = "".join(p if p.startswith("`") else p.replace("*", r"\*") for p in parts)
        lines[number] = re.sub(r"\[((?:collective|peers)[^\]]*)\]", r":agreed:`\1`", plain)


def _agreed(_name, raw, text, *_) -> tuple[list, list]:
    """The role of words such as `collective`, which say who must make a call."""
    return [nodes.inline(raw, text, classes=["agreed"])], []


def setup(app) -> None:
    """Called by Sphinx."""
    app.add_role("agreed", _agreed)
    app.connect("autodoc-process-docstring", _as_plain_text, priority=400)
