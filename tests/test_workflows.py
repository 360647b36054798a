"""CI runs the Makefile's targets alone, with few rights; issue forms are what GitHub takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
MAKEFILES = (ROOT / "Makefile").read_text() + (ROOT / "lint" / "lint.mk").read_text()
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def name(path: Path) -> str:
    return path.name


def load(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text())
    assert isinstance(content, dict)
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    content = load(path)
    jobs = content["jobs"].values() if "jobs" in content else [content["runs"]]
    return [step for job in jobs for step in job["steps"]]


def matrix(job: str) -> dict[str, list[str]]:
    return load(GITHUB / "workflows" / "ci.yml")["jobs"][job]["strategy"]["matrix"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_every_target_that_a_job_makes_exists(path: Path) -> None:
    made = [word for step in steps(path) for word in re.findall(r"\bmake ([a-z][a-z-]*)", step.get("run", ""))]
    assert made
    for target in made:
        assert re.search(rf"^{target}:", MAKEFILES, re.MULTILINE), target


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_a_job_has_a_limit_and_may_only_read_unless_it_publishes(path: Path) -> None:
    content = load(path)
    assert content["permissions"] == {"contents": "read"}
    for key, job in content["jobs"].items():
        assert job["timeout-minutes"] <= 90, key
        written = {right for right, access in job.get("permissions", {}).items() if access == "write"}
        assert written == {"pypi": {"id-token"}, "page": {"contents"}}.get(key, set()), key


@pytest.mark.parametrize("path", [*WORKFLOWS, *GITHUB.glob("actions/*/action.yml")], ids=name)
def test_actions_are_pinned(path: Path) -> None:
    for step in steps(path):
        action = step.get("uses", "./")
        assert action.startswith("./") or re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", action), action


def test_the_versions_are_those_that_are_supported() -> None:
    (sparks,) = re.findall(r"^SPARKS\s*:= (.+)$", MAKEFILES, re.MULTILINE)
    assert matrix("spark")["spark"] == sparks.split()
    package = (ROOT / "python" / "pyproject.toml").read_text()
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text()
    tested = dict(re.findall(r"^\| (Java|Python) \| (.+) \|$", page, re.MULTILINE))
    assert matrix("pytest")["python"] == tested["Python"].split(", ")
    assert matrix("pytest")["python"] == re.findall(r"Programming Language :: Python :: (3\.\d+)", package)
    assert matrix("junit")["java"] == tested["Java"].split(", ")


@pytest.mark.parametrize("path", FORMS, ids=name)
def test_an_issue_form_is_one(path: Path) -> None:
    form = load(path)
    assert {"name", "description", "body"} <= set(form)
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions)
    for part in questions:
        assert part["type"] in {"textarea", "input", "dropdown", "checkboxes"}
        assert part["attributes"]["label"]
        assert part["type"] not in {"dropdown", "checkboxes"} or part["attributes"]["options"]
    assert any(part.get("validations", {}).get("required") for part in questions)


def test_a_bug_comes_with_what_is_needed_to_find_it() -> None:
    labels = [part["attributes"].get("label", "") for part in load(GITHUB / "ISSUE_TEMPLATE" / "bug.yml")["body"]]
    assert {"Version", "Output of mmapqueue doctor", "Output of mmapqueue verify DIR"} <= set(labels)


def test_addresses_are_those_of_the_project() -> None:
    (url,) = re.findall(r"^projectUrl=(.+)$", (ROOT / "gradle.properties").read_text(), re.MULTILINE)
    links = load(GITHUB / "ISSUE_TEMPLATE" / "config.yml")["contact_links"]
    for link in links:
        assert link["url"].startswith(url)
        path = link["url"].partition("/main/")[2]
        assert (ROOT / path).exists(), link
