"""The version of this package: the jar that it carries, and the one in a JVM, must have the same."""

from importlib.metadata import version

__version__ = version("mmapqueue")
