"""Build hook: the package carries the jars of its own version, built from the sources beside it."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the jars with Gradle where they are missing or older than their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """See to the jars before each build; `version` is the kind of build, not the version of the package."""
        package = Path(self.root)
        jar = package / "src" / "mmapqueue" / "jars" / f"mmapqueue-{self.metadata.version}.jar"
        checkout = package.parent
        if not (checkout / "settings.gradle").is_file():  # a source distribution
            if not jar.is_file():
                sys.exit(f"{jar} is missing, and there are no sources to build it from.")
        elif not is_current(jar, checkout / "jvm" / "src" / "main"):
            build_jars(checkout)


def is_current(jar: Path, sources: Path) -> bool:
    """Whether the jar is there and no source is newer."""
    if not jar.is_file():
        return False
    built = jar.stat().st_mtime
    return all(path.stat().st_mtime <= built for path in sources.rglob("*"))


def build_jars(checkout: Path) -> None:
    """Have Gradle build the jars and put them into the package."""
    gradle = shutil.which("gradle")
    if gradle is None:
        sys.exit(f"The jar is missing or older than its sources: run `make build` in {checkout}.")
    subprocess.run([gradle, "--quiet", "-p", str(checkout), ":mmapqueue:bundle"], check=True)
