"""Settings of the documentation site, which `make docs` builds."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT / "scripts"))
import api_tables  # noqa: E402
import toctrees  # noqa: E402

project = "mmapqueue"
author = "the mmapqueue authors"
copyright = author  # noqa: A001
version = release = dict(
    line.split("=", 1) for line in (_ROOT / "gradle.properties").read_text().splitlines() if "=" in line
)["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["benchmarks/raw"]

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
add_module_names = False
default_role = "code"  # of docstrings
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"mmapqueue {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["../build/docs/extra"]
html_show_sphinx = False
html_copy_source = False

# Of a session, the button copies the input alone, without prompts.
copybutton_prompt_text = r">>> |\.\.\. ?|\$ "
copybutton_prompt_is_regexp = True

_TREE = "https://github.com/mmapqueue/mmapqueue/blob/main"


def _prepare(_: Sphinx, page: str, source: list[str]) -> None:
    """Adapts a page to the site.

    Tables of the API get their descriptions, and comments become tables of contents. Links to files that are not pages
    lead to the repository. The search leaves out the decisions, which are for contributors.
    """

    def outside(link: re.Match[str]) -> str:
        path, _, anchor = link[2].partition("#")
        there = (_ROOT / "docs" / page).parent.joinpath(path).resolve()
        if there.is_relative_to(_ROOT / "docs") and there.suffix in {".md", ".svg", ".png"}:
            return link[0]
        return f"[{link[1]}]({_TREE}/{there.relative_to(_ROOT).as_posix()}{'#' + anchor if anchor else ''})"

    text = toctrees.for_site(api_tables.for_site(source[0]))
    text = re.sub(r"(?<!!)\[([^\]]+)\]\(((?!https?:|#)[^)\s]+)\)", outside, text)
    source[0] = f"---\nnosearch: true\n---\n{text}" if page.startswith("decisions/") else text


def setup(app: Sphinx) -> None:
    """Connects the rules for pages."""
    app.connect("source-read", _prepare)
