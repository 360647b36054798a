"""The items that were got and are not done."""

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Delivery(Generic[T]):
    """One item that was got.

    Attributes:
        offset: The offset of the item's record.
        item: The item.
    """

    __slots__ = ("item", "offset")

    def __init__(self, offset: int, item: T) -> None:
        self.offset = offset
        self.item = item


class InFlight(Generic[T]):
    """The items in flight, in the order of their gets. Not thread-safe."""

    def __init__(self) -> None:
        self._all: dict[Delivery[T], None] = {}
        self._by_identity: dict[int, deque[Delivery[T]]] = {}
        # Keyed by a thread-local object, since the system reuses the numbers of threads.
        self._local = threading.local()

    def add(self, offset: int, item: T) -> None:
        """Adds an item that this thread got."""
        delivery = Delivery(offset, item)
        self._all[delivery] = None
        self._by_identity.setdefault(id(item), deque()).append(delivery)
        own = self._own()
        # Other threads have removed the first ones.
        while own and own[0] not in self._all:
            own.popleft()
        own.append(delivery)

    def take_own(self) -> Delivery[T] | None:
        """Removes the first item that this thread got; None when it has none in flight."""
        own = self._own()
        while own:
            delivery = own.popleft()
            if delivery in self._all:
                self._remove(delivery)
                return delivery
        return None

    def take(self, item: T) -> Delivery[T] | None:
        """Removes an item, whichever thread got it; None when it is not in flight."""
        found = self._by_identity.get(id(item))
        if not found:
            return None
        delivery = found[0]
        self._remove(delivery)
        return delivery

    def take_all(self) -> list[Delivery[T]]:
        """Removes all items."""
        taken = list(self._all)
        self._all.clear()
        self._by_identity.clear()
        return taken

    def forget(self, offset: int) -> None:
        """Removes the item of an offset, if it is in flight: its get was interrupted."""
        for delivery in [delivery for delivery in self._all if delivery.offset == offset]:
            self._remove(delivery)

    def _own(self) -> deque[Delivery[T]]:
        try:
            own: deque[Delivery[T]] = self._local.own
        except AttributeError:
            own = self._local.own = deque()
        return own

    def _remove(self, delivery: Delivery[T]) -> None:
        del self._all[delivery]
        # A delivery refers to its item, so no other item can have this identity until the delivery is removed.
        same = self._by_identity[id(delivery.item)]
        same.remove(delivery)
        if not same:
            del self._by_identity[id(delivery.item)]
