"""What the documents say of a release is what the code has."""

import importlib.metadata
import re
import subprocess
from pathlib import Path

import mmapqueue

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")


def row(part: str) -> str:
    """What the table of tested versions says of a part."""
    table = PAGE[PAGE.index("| part | tested with |") :]
    found = re.search(rf"^\| {part} \| (.*) \|$", table, re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_documents_name_the_current_version() -> None:
    # The benchmarks name the version that was measured.
    pages = [page for page in ROOT.glob("docs/**/*.md") if "benchmark" not in page.name]
    found = {
        (page.name, version)
        for page in pages
        for version in re.findall(r"mmapqueue[-:](\d+\.\d+[\w.]*?)(?:[-.]py3|\.jar|[\s`']|$)", page.read_text("utf-8"))
    }
    assert {version for _, version in found} == {mmapqueue.__version__}, found


def test_the_version_is_that_of_the_distribution() -> None:
    assert mmapqueue.__version__ == importlib.metadata.version("mmapqueue")


def test_the_tested_versions_of_java_are_those_without_a_warning() -> None:
    source = (ROOT / "jvm/src/main/java/org/mmapqueue/core/TestedJava.java").read_text(encoding="utf-8")
    releases = re.search(r"RELEASES = List\.of\(([\d, ]+)\)", source)
    assert releases is not None
    assert row("Java") == releases[1]


def test_the_tested_versions_are_those_of_the_workflow() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    for part in ("Java", "Python"):
        versions = re.search(rf"^ +{part.lower()}: \[(.*)\]$", workflow, re.MULTILINE)
        assert versions is not None
        assert row(part) == versions[1].replace('"', "")


def test_the_tested_versions_of_spark_are_those_of_the_build() -> None:
    versions = re.search(r"^SPARKS +:= (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions is not None
    minors = [version.rpartition(".")[0] for version in versions[1].split()]
    assert row("Spark").startswith(", ".join(minors) + ";")


def test_the_line_of_pypi_is_on_one_page_and_hidden_until_the_release() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    line = re.compile(r"^pip install mmapqueue$", re.MULTILINE)
    assert [page.name for page in pages if line.search(page.read_text("utf-8"))] == ["installation.md"]
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")
    hidden = "".join(re.findall(r"<!-- until the release.*?-->", page, re.DOTALL))
    assert bool(line.search(hidden)) == ("<!-- until the release" in (ROOT / "README.md").read_text("utf-8"))


def commands(page: str, heading: str) -> list[str]:
    """The shell blocks of a section."""
    text = (ROOT / page).read_text("utf-8")
    section = re.split(r"^## ", text[text.index(f"## {heading}\n") + 3 :], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def test_a_checkout_is_installed_by_the_same_commands_on_both_pages() -> None:
    """`make test-bare` runs those of the README."""
    install = commands("README.md", "Install")
    assert install[:2] == commands("docs/installation.md", "From a checkout")
    assert "git clone https://github.com/mmapqueue/mmapqueue" in install[1].splitlines()


def test_a_tag_is_refused_as_long_as_the_pages_say_that_there_is_no_release() -> None:
    version = mmapqueue.__version__
    command = ["make", "--no-print-directory", "check-tag", f"TAG=v{version}", f"VERSION={version}"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) == ("<!-- until the release" not in (ROOT / "README.md").read_text("utf-8"))
    if ran.returncode:
        assert "README.md" in ran.stderr or "CHANGELOG.md has no section" in ran.stderr
