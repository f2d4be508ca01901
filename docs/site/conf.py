"""Sphinx's settings of the documentation site; tests/support/website.py lays out the pages and builds."""

import datetime

project = "Cutbench"
copyright = f"{datetime.date.today().year}, the authors of Cutbench"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["docs/site/*.md"]
highlight_language = "text"
smartquotes = False  # quotes of commands and formulas stay as typed
myst_heading_anchors = 4

html_theme = "furo"
html_title = "Cutbench"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # summaries are fetched, which browsers refuse to pages opened from a disk
