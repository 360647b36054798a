"""Build hook: the wheel carries the jars of its own version, the source distribution the sources of the jar."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: What builds the jar, as it lies in the repository. A source distribution has it below `java/`.
JAVA_SOURCES = (
    "LICENSE",
    "build.gradle",
    "gradle",
    "gradle.properties",
    "jvm/build.gradle",
    "jvm/libraries.lock",
    "jvm/src/main",
    "jvm/src/module",
    "jvm/src/spark4",
    "scripts/gradle",
    "settings.gradle",
)


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the jars with Gradle where they are missing or older than their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """See to the jars before each build; `version` is the kind of build, not the version of the package."""
        package = Path(self.root)
        unpacked = package / "java"
        is_unpacked = unpacked.is_dir()
        sources = unpacked if is_unpacked else package.parent
        if self.target_name == "sdist":
            if not is_unpacked:
                build_data["force_include"].update({str(sources / path): f"java/{path}" for path in JAVA_SOURCES})
            return
        jars = package / "src" / "mmapqueue" / "jars"
        if not is_current(jars / f"mmapqueue-{self.metadata.version}.jar", sources / "jvm" / "src"):
            build_jars(sources, jars)


def is_current(jar: Path, sources: Path) -> bool:
    """Whether the jar exists and none of its sources is newer."""
    if not jar.is_file():
        return False
    built = jar.stat().st_mtime
    return all(
        path.stat().st_mtime <= built for part in ("main", "spark4", "module") for path in (sources / part).rglob("*")
    )


def build_jars(sources: Path, jars: Path) -> None:
    """Has Gradle build the jars, into a directory of the package. Installs nothing: pip runs this, too.

    Raises:
        SystemExit: A JDK or Gradle is missing, or the build fails; the message is on standard error.
    """
    gradle = ["bash", str(sources / "scripts" / "gradle"), "--no-daemon", "--quiet", f"-PjarDirectory={jars}"]
    environment = {**os.environ, "MMAPQUEUE_INSTALL": "no"}
    built = subprocess.run([*gradle, ":mmapqueue:bundle"], env=environment, check=False)
    if built.returncode != 0:
        sys.exit(f"The jar of mmapqueue could not be built from {sources}. The wheel carries it: it needs no JDK.")
