"""`mmapqueue jar`."""

from mmapqueue._jvm import jars


def jar() -> None:
    """Print the path of the jar, as in `spark-submit --jars $(mmapqueue jar)`."""
    print(jars.jar_path())
