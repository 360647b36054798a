"""Short form of the kill loop: both halves are killed under load from real clients; in the long form each one, too."""

from pathlib import Path
from typing import cast

import pytest

from conftest import LONG

from . import kill_loop


@pytest.mark.slow
@pytest.mark.long_form
def test_everything_accepted_survives_kills_of_both_halves(tmp_path: Path) -> None:
    # The test of the demo kills gather alone, and process alone.
    processes = kill_loop.PROCESSES if LONG else ("both",)
    figures = kill_loop.run(len(processes), tmp_path, seed=1, processes=processes)
    assert figures["kills"] == dict.fromkeys(processes, 1)
    accepted = cast("dict[str, int]", figures["accepted"])
    assert accepted.keys() == {"logs", "spans", "segments", "stream logs", "syslog"}
    assert all(accepted.values()), accepted
