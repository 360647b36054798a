"""The version of this package, which the jar that it carries and the one in a JVM must have, too."""

from pathlib import Path

#: The header `Server` of HTTP answers: without versions, and without what the server is made with.
PRODUCT = "mmapqueue"

_JARS = Path(__file__).parents[1] / "jars"
_NAME = "mmapqueue-"


def _version() -> str:
    jars = list(_JARS.glob(f"{_NAME}*.jar"))
    if len(jars) == 1:
        return jars[0].stem.removeprefix(_NAME)
    # Imported only without a jar: this import takes 40 ms, a fifth of the time of the package's own modules.
    from importlib.metadata import version

    return version("mmapqueue")


__version__ = _version()
