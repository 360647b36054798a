"""What the wheel and the source distribution hold, and what they say of themselves."""

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

import mmapqueue

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "python"
VERSION = mmapqueue.__version__
URL = re.search(r"^projectUrl=(.+)$", (ROOT / "gradle.properties").read_text(), re.MULTILINE)[1]  # type: ignore[index]


def build(target: str, directory: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(directory)]
    subprocess.run(command, cwd=PYTHON, check=True, capture_output=True, timeout=300)
    (file,) = directory.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(build("wheel", tmp_path_factory.mktemp("wheel"))) as file:
        yield file


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tarfile.TarFile]:
    with tarfile.open(build("sdist", tmp_path_factory.mktemp("sdist"))) as file:
        yield file


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return Parser().parsestr(wheel.read(f"mmapqueue-{VERSION}.dist-info/METADATA").decode())


def names_below(sdist: tarfile.TarFile, directory: str) -> set[str]:
    prefix = f"mmapqueue-{VERSION}/{directory}"
    return {name.removeprefix(prefix) for name in sdist.getnames() if name.startswith(prefix)}


def test_both_are_named_after_the_version(wheel: zipfile.ZipFile, sdist: tarfile.TarFile) -> None:
    assert Path(str(wheel.filename)).name == f"mmapqueue-{VERSION}-py3-none-any.whl"
    assert Path(str(sdist.name)).name == f"mmapqueue-{VERSION}.tar.gz"


def test_the_addresses_are_those_of_the_project(metadata: Message) -> None:
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Homepage", "Documentation", "Changelog", "Issues", "Source"}
    assert urls["Homepage"] == URL
    for url in urls.values():
        assert url.startswith(URL)
        path = url.partition("/main/")[2]
        assert (ROOT / path).exists(), url


def test_the_licences_of_all_parts_are_named_and_carried(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
    assert not [line for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    files = metadata.get_all("License-File", [])
    assert sorted(files) == ["LICENSE", "NOTICE", "licenses/slf4j.txt"]
    licences = {name: wheel.read(f"mmapqueue-{VERSION}.dist-info/licenses/{name}").decode() for name in files}
    assert licences["LICENSE"] == (ROOT / "LICENSE").read_text()
    for name in wheel.namelist():
        if name.startswith("mmapqueue/jars/slf4j"):
            library, version = re.fullmatch(r"mmapqueue/jars/(.+)-([\d.]+)\.jar", name).groups()  # type: ignore[union-attr]
            assert f"{library} {version}" in licences["NOTICE"]
            with zipfile.ZipFile(wheel.open(name)) as jar:
                its_own = jar.read("META-INF/LICENSE.txt").decode()
            assert its_own.split() == licences["licenses/slf4j.txt"].split()


def test_the_wheel_carries_the_jars(wheel: zipfile.ZipFile) -> None:
    jars = {name for name in wheel.namelist() if name.endswith(".jar")}
    assert {name.rpartition("-")[0] for name in jars} == {
        "mmapqueue/jars/mmapqueue", "mmapqueue/jars/slf4j-api", "mmapqueue/jars/slf4j-jdk14",
    }  # fmt: skip
    assert f"mmapqueue/jars/mmapqueue-{VERSION}.jar" in jars
    own = ("mmapqueue/", "_mmapqueue_command.py", f"mmapqueue-{VERSION}.dist-info/")
    assert all(name.startswith(own) for name in wheel.namelist())
    assert "mmapqueue/py.typed" in wheel.namelist()


def test_the_extra_all_adds_all_that_the_others_do_and_each_is_documented(metadata: Message) -> None:
    extras = set(metadata.get_all("Provides-Extra", []))
    needs: dict[str, set[str]] = {extra: set() for extra in extras}
    for line in metadata.get_all("Requires-Dist", []):
        library, _, condition = line.partition("; extra == ")
        if condition:
            needs[condition.strip("'\"")].add(library)
    assert needs["all"] == set().union(*(needs[extra] for extra in extras - {"all"}))
    page = (ROOT / "docs" / "installation.md").read_text()
    assert set(re.findall(r"`mmapqueue\[(\w+)\]`", page)) == extras


def test_the_page_of_the_package_needs_no_file_beside_it(metadata: Message) -> None:
    page = str(metadata.get_payload())
    assert metadata["Description-Content-Type"] == "text/markdown"
    for link in re.findall(r"\]\((.+?)\)", page):
        assert link.startswith(URL), link
    extras = set(metadata.get_all("Provides-Extra", []))
    assert set(re.findall(r"`mmapqueue\[(\w+)\]`", page)) == extras


def test_the_source_distribution_has_the_sources_of_the_jar(sdist: tarfile.TarFile) -> None:
    sources = ROOT / "jvm" / "src"
    java = {
        str(path.relative_to(ROOT)) for part in ("main", "spark4", "module") for path in (sources / part).rglob("*.*")
    }
    built_by = {"build.gradle", "settings.gradle", "gradle.properties", "LICENSE", "scripts/gradle", "jvm/build.gradle",
                "jvm/libraries.lock"}  # fmt: skip
    applied = {str(path.relative_to(ROOT)) for path in (ROOT / "gradle").iterdir()}
    assert names_below(sdist, "java/") >= java | built_by | applied
    assert not [name for name in names_below(sdist, "java/jvm/src/") if name.startswith("test")]
    assert not [name for name in sdist.getnames() if name.endswith((".jar", ".class", ".pyc"))]


def test_the_source_distribution_has_the_package(sdist: tarfile.TarFile) -> None:
    own = PYTHON / "src"
    assert names_below(sdist, "src/") >= {str(path.relative_to(own)) for path in own.rglob("*.py")}
    assert names_below(sdist, "") >= {"PKG-INFO", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE"}


def unpack(sdist: tarfile.TarFile, tmp_path: Path) -> Path:
    filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 and newer
    sdist.extractall(tmp_path / "unpacked", **filters)
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    return unpacked


def test_a_source_distribution_makes_itself_again(sdist: tarfile.TarFile, tmp_path: Path) -> None:
    unpacked = unpack(sdist, tmp_path)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path / "again")]
    subprocess.run(command, cwd=unpacked, check=True, capture_output=True, timeout=300)
    (file,) = (tmp_path / "again").iterdir()
    with tarfile.open(file) as again:
        assert sorted(again.getnames()) == sorted(sdist.getnames())


def test_an_unpacked_source_distribution_names_what_builds_it(sdist: tarfile.TarFile, tmp_path: Path) -> None:
    unpacked = unpack(sdist, tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "dirname", "sed", "id"):
        (tools / tool).symlink_to(f"/usr/bin/{tool}")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "wheel")]
    built = subprocess.run(
        command, cwd=unpacked, check=False, capture_output=True, text=True, timeout=300, env={"PATH": str(tools)}
    )
    assert built.returncode == 1
    assert "No javac found: install a JDK, version 17 or newer" in built.stderr
    assert "The jar of mmapqueue could not be built" in built.stderr
