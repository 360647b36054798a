"""What `make publish` leaves in the Maven repository, and that builds of programs can use it."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

import mmapqueue

ROOT = Path(__file__).parents[1]
VERSION = mmapqueue.__version__
PUBLISHED = ROOT / "build" / "repository" / "org" / "mmapqueue" / "mmapqueue" / VERSION
POM = "{http://maven.apache.org/POM/4.0.0}"
#: Maven looks at no other place for a release that it has once: it must not keep ours.
MAVEN_REPOSITORY = ROOT / "build" / "maven"

pytestmark = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="`make test-packages` publishes the jar first")


def run(*command: str, cwd: Path) -> str:
    ran = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of examples/java, with the repository where its builds expect it."""
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "repository").symlink_to(PUBLISHED.parents[3])
    left = shutil.ignore_patterns("build", "target", ".gradle", "orders-queue")
    return Path(shutil.copytree(ROOT / "examples" / "java", tmp_path / "examples" / "java", ignore=left))


def assert_bills_each_order_once(printed: list[str]) -> None:
    orders = ["two chairs", "a table"] * 2
    billed = [order for each in printed for order in re.findall(r"order \d+: [a-z ]+", each)]
    assert billed == [f"order {offset}: {order}" for offset, order in enumerate(orders)], printed


def test_a_gradle_project_uses_the_jar(project: Path) -> None:
    gradle = str(ROOT / "scripts" / "gradle")
    run(gradle, "--no-daemon", "--console=plain", "--project-dir", str(project), "build", cwd=project)
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    program = (str(java), "-cp", "build/run/*", "orders.Orders")
    assert_bills_each_order_once([run(*program, cwd=project) for _ in range(2)])


@pytest.mark.skipif(shutil.which("mvn") is None, reason="no mvn on PATH: install Maven to build the Maven project")
def test_a_maven_project_uses_the_jar(project: Path) -> None:
    shutil.rmtree(MAVEN_REPOSITORY / "org" / "mmapqueue", ignore_errors=True)
    maven = ("mvn", "-q", "-B", f"-Dmaven.repo.local={MAVEN_REPOSITORY}", "compile", "exec:java")
    assert_bills_each_order_once([run(*maven, cwd=project) for _ in range(2)])


def test_the_pom_says_what_a_build_needs() -> None:
    pom = ET.parse(PUBLISHED / f"mmapqueue-{VERSION}.pom").getroot()
    assert [pom.findtext(f"{POM}{name}") for name in ("groupId", "artifactId", "version", "name")] == [
        "org.mmapqueue", "mmapqueue", VERSION, "mmapqueue",
    ]  # fmt: skip
    assert pom.findtext(f"{POM}description")
    assert pom.findtext(f"{POM}licenses/{POM}license/{POM}name") == "Apache-2.0"
    url = re.search(r"^projectUrl=(\S+)$", (ROOT / "gradle.properties").read_text(), re.M)
    assert url is not None
    assert {pom.findtext(f"{POM}url"), pom.findtext(f"{POM}scm/{POM}url")} == {url[1]}
    dependencies = [
        [each.findtext(f"{POM}{name}") for name in ("groupId", "artifactId", "scope")]
        for each in pom.iter(f"{POM}dependency")
    ]
    assert dependencies == [["org.slf4j", "slf4j-api", "runtime"]]


def test_the_jar_comes_with_its_sources_and_documentation() -> None:
    def names(classifier: str) -> set[str]:
        with zipfile.ZipFile(PUBLISHED / f"mmapqueue-{VERSION}{classifier}.jar") as jar:
            return set(jar.namelist())

    classes = {name for name in names("") if name.endswith(".class") and "$" not in name}
    sources = {name for name in names("-sources") if name.endswith(".java") and "package-info" not in name}
    assert {name.removesuffix(".class") for name in classes if "package-info" not in name} == {
        name.removesuffix(".java") for name in sources
    }
    documented = {name.rpartition("/")[0] for name in names("-javadoc") if name.endswith("/package-summary.html")}
    module = (ROOT / "jvm/src/module/java/module-info.java").read_text(encoding="utf-8")
    assert documented == {package.replace(".", "/") for package in re.findall(r"exports ([\w.]+);", module)}
