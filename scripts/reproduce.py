"""Builds the published files of a commit twice, in different surroundings, and compares them: `make release-check`.

The directory, the umask, the time zone, the locale and the time of day differ; the JDK and Gradle are the same.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SURROUNDINGS = {
    "first": {"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "umask": "022"},
    "second/in a deeper directory": {"TZ": "America/Lima", "LC_ALL": "C", "umask": "077"},
}


def build(commit: str, directory: Path, surroundings: dict[str, str]) -> dict[str, str]:
    """Build a commit in a directory of its own; return the SHA-256 of each published file."""
    directory.mkdir(parents=True)
    settings = dict(surroundings)
    umask = int(settings.pop("umask"), 8)
    environment = {**os.environ, **settings}
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    # tar sets the rights that the archive has, unless the umask takes them away.
    subprocess.run(["tar", "-x", "--no-same-permissions"], cwd=directory, input=archive, umask=umask, check=True)
    repository = directory / "build" / "repository"
    gradle = ["scripts/gradle", "--console=plain", "--quiet", "--no-daemon", f"-Dmaven.repo.local={repository}"]
    subprocess.run([*gradle, ":mmapqueue:publishToMavenLocal"], cwd=directory, env=environment, umask=umask, check=True)
    # The metadata of the repository has the time of the publication.
    files = [path for path in repository.rglob("*") if path.is_file() and "maven-metadata" not in path.name]
    return {str(path.relative_to(repository)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def main() -> int:
    """Compare two builds; return the exit code."""
    commit = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="mmapqueue-release-") as work:
        first, second = (build(commit, Path(work) / name, settings) for name, settings in SURROUNDINGS.items())
    differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    for name in sorted(first):
        if name.endswith((".jar", ".pom")):
            print(first[name], name)
    if differing or not first:
        print("these files differ:", *differing, sep="\n  ", file=sys.stderr)
        return 1
    print(f"{len(first)} files, the same bytes in both builds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
