"""Weak references."""

from typing import TypeVar
from weakref import WeakValueDictionary

_T = TypeVar("_T")


def living(objects: WeakValueDictionary[int, _T]) -> list[_T]:
    """The objects that still exist, also while other threads add some, which a loop over a WeakSet forbids."""
    found = [reference() for reference in objects.valuerefs()]
    return [each for each in found if each is not None]
