"""The version of this package: the jar that it carries, and the one in a JVM, must have the same."""

from pathlib import Path

_JARS = Path(__file__).parents[1] / "jars"
_NAME = "mmapqueue-"


def _version() -> str:
    jars = list(_JARS.glob(f"{_NAME}*.jar"))
    if len(jars) == 1:
        return jars[0].stem.removeprefix(_NAME)
    # Only without a jar: this import takes 40 ms, a fifth of what the package's own modules take.
    from importlib.metadata import version

    return version("mmapqueue")


__version__ = _version()
