"""One measured figure: its values by round, and what may be said about them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

#: The round of a figure that was computed from medians, as its parts have no round in common.
ACROSS = "across"


@dataclass(frozen=True)
class Figure:
    """Values of one thing in one run, by round; a round has one value for each of its iterations.

    The figure told is the median of the rounds' medians, so that a slow minute of a shared machine counts as one round.
    """

    rounds: Mapping[str, Sequence[float]]

    def __post_init__(self) -> None:
        if not self.rounds or not all(self.rounds.values()):
            raise ValueError(f"a figure needs a value in each of its rounds: {dict(self.rounds)}")

    @staticmethod
    def of(values: Sequence[float]) -> Figure:
        """Makes a figure of one value for each round."""
        return Figure({str(number): [value] for number, value in enumerate(values, 1)})

    def by_round(self) -> dict[str, float]:
        """Returns the median of each round."""
        return {name: statistics.median(values) for name, values in self.rounds.items()}

    @property
    def median(self) -> float:
        """The figure."""
        return statistics.median(self.by_round().values())

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest round; where there is one round alone, its iterations."""
        values = list(self.by_round().values())
        if len(values) == 1:
            values = [value for iterations in self.rounds.values() for value in iterations]
        return min(values), max(values)

    def map(self, change: Callable[[float], float]) -> Figure:
        """Returns the figure in another unit."""
        return Figure({name: [change(value) for value in values] for name, values in self.rounds.items()})

    def over(self, other: Figure) -> Figure:
        """Returns how many times as great this is as the other one, round by round.

        Where they have no round in common, what was measured once is compared with the median of all rounds.
        """
        mine, others = self.by_round(), other.by_round()
        common = [name for name in mine if name in others]
        if not common:
            return Figure({ACROSS: [self.median / other.median]})
        return Figure({name: [mine[name] / others[name]] for name in common})
