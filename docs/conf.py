"""Settings of the documentation site, which `make docs` builds."""

import re
from pathlib import Path

from sphinx.application import Sphinx

_ROOT = Path(__file__).parents[1]

project = "mmapqueue"
author = "the mmapqueue authors"
copyright = author  # noqa: A001
version = release = dict(
    line.split("=", 1) for line in (_ROOT / "gradle.properties").read_text().splitlines() if "=" in line
)["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["benchmarks/raw"]

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"mmapqueue {release}"
html_extra_path = ["../build/docs/extra"]
html_show_sphinx = False
html_copy_source = False


def _outside(_: Sphinx, page: str, source: list[str]) -> None:
    """Turns links to files of the repository that are no pages into the names of these files."""

    def shown(link: re.Match[str]) -> str:
        target = (Path(page).parent / link[2].partition("#")[0]).as_posix()
        there = (_ROOT / "docs" / target).resolve()
        inside = there.is_relative_to(_ROOT / "docs") and there.suffix in {".md", ".svg", ".png"}
        return link[0] if inside else f"{link[1]} (`{there.relative_to(_ROOT)}`)"

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(((?!https?:|#)[^)\s]+)\)", shown, source[0])


def setup(app: Sphinx) -> None:
    """Connects the links' rule."""
    app.connect("source-read", _outside)
