"""Sphinx's settings for the documentation; `website.py` stages the pages and calls Sphinx."""

import os
from pathlib import Path

project = "Pellucid"
author = copyright = "The Pellucid authors"
release = version = os.environ.get("PELLUCID_DOCS_VERSION", "")

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_links_external_new_tab = False
nitpicky = True
# of the pages' form; links are what must hold
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

html_theme = "furo"
html_title = f"Pellucid {release}".strip()
html_static_path = ["_static"]
html_css_files = ["pellucid.css"]
html_js_files = ["excerpts.js"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_search_summary = False  # a page opened as a file may not fetch another one
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "github-dark"
