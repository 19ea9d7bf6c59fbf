"""How Sphinx makes the site: `python -m sphinx -W --keep-going -b html docs build/docs`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT)]

import made

import smmux

project = "smmux"
author = "the authors of smmux"
release = smmux.__version__
version = release.partition("+")[0]  # without the commit

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "made"]
exclude_patterns = ["figures/*", "templates/*"]
myst_heading_anchors = 3
myst_enable_extensions = ["html_image"]
nb_execution_mode = "cache"  # runs those that have changed; `-D nb_execution_mode=off` for a quick look at the text
nb_execution_cache_path = str(ROOT / "build" / "notebooks" / made.digest(ROOT / "smmux"))
nb_execution_timeout = 120
nb_execution_raise_on_error = True

default_role = "code"
autodoc_default_options = {"undoc-members": True, "member-order": "bysource", "show-inheritance": True}
suppress_warnings = ["ref.python"]  # short names in signatures, as `bytes`, that attributes have too
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"smmux {version}"
html_static_path = ["static"]
html_css_files = ["smmux.css"]
html_js_files = ["zoom.js", "versions.js"]
html_show_copyright = False
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
