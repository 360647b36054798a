"""The documents say what happens: their snippets run, and their tables are complete."""

from __future__ import annotations

import asyncio
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import mmapqueue
from mmapqueue._cli.app import names

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "python" / "README.md", *PAGES]
SESSIONS = sorted(page for page in PAGES if "```pycon" in page.read_text(encoding="utf-8"))


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(*command: object, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, input=stdin, capture_output=True, text=True, check=False
    )


# Python sessions


#: The pages that a new user reads first.
FIRST = {"README.md", "docs/quickstart.md"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if name(page) in FIRST else pytest.mark.slow) for page in SESSIONS],
    ids=name,
)
def test_sessions(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "pyspark" in text:
        pytest.importorskip("pyspark")
    ran = run(sys.executable, Path(__file__).with_name("page_sessions.py"), page, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    examples = len(re.findall(r"^>>> ", text, re.MULTILINE))
    assert f"{examples} examples, 0 failed" in ran.stdout


def test_the_sessions_are_found() -> None:
    assert {"docs/tutorial.md", "docs/quickstart.md", "docs/howto/parquet.md"} <= {name(page) for page in SESSIONS}


# READMEs

READMES = [ROOT / "README.md", ROOT / "python" / "README.md"]


@pytest.mark.parametrize("page", READMES, ids=name)
def test_the_readmes_example_prints_what_stands_below_it(page: Path, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(blocks(page, "python")[0])
    ran = run(sys.executable, "example.py", cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == (blocks(page, "text")[0], "")


def test_the_readmes_begin_alike() -> None:
    pages = [page.read_text(encoding="utf-8") for page in READMES]
    assert len({blocks(page, "python")[0] for page in READMES}) == 1
    sentences = {" ".join(text.split("\n\n")[1].split()).partition(". ")[0].rstrip(".") for text in pages}
    assert len(sentences) == 1


def test_the_readme_is_short_and_names_the_version_and_the_projects_addresses() -> None:
    text = READMES[0].read_text(encoding="utf-8")
    properties = dict(re.findall(r"^(\w+)=(.+)$", (ROOT / "gradle.properties").read_text(), re.MULTILINE))
    assert len(text.splitlines()) <= 150
    assert f"\nVersion {properties['version']} · " in text
    addresses = set(re.findall(rf"{re.escape(properties['projectUrl'])}/([^\s)]+)", text))
    assert addresses == {"actions/workflows/ci.yml", "issues"}
    assert (ROOT / ".github" / "workflows" / "ci.yml").exists()


def test_the_page_of_pypi_has_no_relative_links() -> None:
    links = re.findall(r"\]\(([^)]+)\)", READMES[1].read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []


# Pictures


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("*.svg")), ids=name)
def test_pictures_are_for_light_and_dark_pages(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    # A terminal is dark on both.
    assert "@media (prefers-color-scheme: dark)" in text or 'class="rich-terminal"' in text
    known = r"http://(?:www\.w3\.org|purl\.org|creativecommons\.org|127\.0\.0\.1:\d+)/"
    assert "http://" not in re.sub(known, "", text)


def test_pictures_are_used() -> None:
    used = {
        page.parent.joinpath(link).resolve()
        for page in TEXTS
        for link in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    }
    assert {path for path in DOCS.rglob("*") if path.suffix in {".svg", ".png"}} == used


# Programs


def programs(page: Path, directory: Path) -> None:
    """Writes the programs of a page, each to the file that its first line names."""
    for program in blocks(page, "python"):
        if program.startswith("# ") and program.splitlines()[0].endswith(".py"):
            (directory / program.splitlines()[0].removeprefix("# ")).write_text(program)


def test_the_web_service_stores_what_its_worker_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    utils = pytest.importorskip("aiohttp.test_utils")
    monkeypatch.chdir(tmp_path)
    programs(DOCS / "howto" / "web-service.md", tmp_path)
    service = runpy.run_path(str(tmp_path / "service.py"))

    async def post() -> str:
        async with utils.TestClient(utils.TestServer(service["application"]())) as client:
            async with client.post("/collect", data=b"hello") as answer:
                assert (answer.status, await answer.json()) == (202, {"offset": 0})
            # Below aiohttp's own limit, 1 MiB.
            async with client.post("/collect", data=b"x" * 30_000) as answer:
                assert answer.status == 413
                assert "a record of 30000 bytes is larger than max_event_size = 20480" in await answer.text()
            worker = await asyncio.to_thread(run, sys.executable, "worker.py", cwd=tmp_path)
            assert worker.returncode == 0, worker.stderr
            return worker.stdout

    assert asyncio.run(post()) == "0 hello\n"


def test_the_agent_pushes_the_lines_it_gets(tmp_path: Path) -> None:
    programs(DOCS / "howto" / "systemd.md", tmp_path)
    ran = run(sys.executable, "agent.py", cwd=tmp_path, stdin="one\ntwo\n")
    assert ran.returncode == 0, ran.stderr
    with mmapqueue.Queue(tmp_path / "agent") as queue:
        assert [message.data for message in queue] == [b"one", b"two"]


@pytest.mark.slow
def test_the_tests_of_users_pass(tmp_path: Path) -> None:
    programs(DOCS / "howto" / "testing.md", tmp_path)
    ran = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout


def test_the_java_program_runs(tmp_path: Path) -> None:
    (program,) = [block for block in blocks(DOCS / "reference" / "java.md", "java") if "class Example" in block]
    (tmp_path / "Example.java").write_text(program)
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    ran = run(java, "-cp", f"{mmapqueue.jar_path().parent}/*", "Example.java", cwd=tmp_path)
    assert ran.stdout == "0 one\n1 two\n2 three\nlag 0\n", ran.stderr


@pytest.mark.parametrize("page", TEXTS, ids=name)
def test_commands_exist(page: Path) -> None:
    text = "\n".join(re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    used = set(re.findall(r"^(?:\$ |ExecStart\w*=\S*/)?mmapqueue ([\w-]+)", text, re.MULTILINE))
    assert used <= set(names())
    makefile = "".join((ROOT / file).read_text() for file in ("Makefile", "lint/lint.mk"))
    for target in re.findall(r"^make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^[a-z -]*\b{target}\b[a-z -]*:", makefile, re.MULTILINE), target


# Error texts

#: Texts of Spark, which are not in the code.
SPARKS_OWN = ("Failed to find", 'The data source "mmapqueue"', "basedir must be absolute")


def test_the_texts_of_errors_are_those_of_the_code() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    sources = [*ROOT.glob("jvm/src/main/**/*.java"), *ROOT.glob("python/src/mmapqueue/**/*.py")]
    sources += [ROOT / "scripts" / "gradle", ROOT / "python" / "hatch_build.py", *ROOT.glob("gradle/*.gradle")]
    code = re.sub(r'"\s*\+?\s*f?"', "", "\n".join(source.read_text(encoding="utf-8") for source in sources))
    tables = [table for table in re.split(r"^## ", page, flags=re.MULTILINE) if "message contains" in table]
    rows = [row for table in tables for row in re.findall(r"^\| (`.*?) \| ", table, re.MULTILINE)]
    texts = [text for row in rows for text in re.findall(r"`([^`]+)`", row) if not text.startswith(SPARKS_OWN)]
    assert len(texts) > 20
    assert [text for text in texts if text not in code] == []


TREES = runpy.run_path(str(ROOT / "scripts" / "toctrees.py"))


def test_a_table_of_contents_is_a_comment() -> None:
    text = "| [A](a.md) | x |\n| b | [B](b/index.md#c) [A](a.md) |\n| [no](../no.md) | |\n\n"
    assert TREES["entries"](f"{text}<!-- toctree -->\n") == ["a", "b/index"]
    assert TREES["for_site"](f"{text}<!-- toctree -->\n") == f"{text}```{{toctree}}\n:hidden:\n\na\nb/index\n```\n"
    named = "<!-- toctree\n:caption: Start\n\nq\nb/index\n-->\n"
    assert TREES["entries"](named) == ["q", "b/index"]
    assert TREES["for_site"](named) == "```{toctree}\n:hidden:\n:caption: Start\n\nq\nb/index\n```\n"


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for entry in TREES["entries"](page.read_text(encoding="utf-8")):
            listed.add(page.parent / f"{entry}.md")
    assert [name(page) for page in PAGES if page not in listed] == []


def test_the_index_lists_all_pages_by_task() -> None:
    """Each, or the index of its directory."""
    links = re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8"))
    listed = {DOCS / link for link in links}
    pages = [page for page in PAGES if page.name != "index.md" and not listed & {page, page.parent / "index.md"}]
    assert [name(page) for page in pages] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != DOCS / "index.md"], ids=name)
def test_every_page_says_first_for_whom_it_is(page: Path) -> None:
    title, blank, first, *_ = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert blank == ""
    assert first.startswith("For "), first


# What they agree on


def test_a_directory_has_one_capacity_in_all_documents() -> None:
    found: dict[str, dict[str, str]] = {}
    opening = re.compile(r'Queue\("([^"]+)", (?:spark=\w+, )?capacity="(\w+)"')
    for text in [*TEXTS, *ROOT.glob("python/src/**/*.py")]:
        for opened in opening.finditer(text.read_text(encoding="utf-8")):
            found.setdefault(opened[1], {})[opened[2]] = text.name
    assert {"events", "tutorial"} <= set(found)
    assert {directory: files for directory, files in found.items() if len(files) > 1} == {}
