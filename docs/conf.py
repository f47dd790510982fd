"""How Sphinx builds these pages; the build treats every warning as an error."""

from appliance import __version__

project = "Skellig"
author = "The Skellig authors"
project_copyright = "2026, The Skellig authors"
version = release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = f"Skellig {release}"
html_show_sourcelink = False
html_copy_source = False
