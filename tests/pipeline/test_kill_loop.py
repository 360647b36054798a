"""Short form of the kill loop: gather, process and both are killed once each under load from real clients."""

import sys
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).parent))

import kill_loop


def test_everything_accepted_survives_kills_of_both_halves(tmp_path: Path) -> None:
    figures = kill_loop.run(3, tmp_path, seed=1)
    assert figures["kills"] == {"gather": 1, "process": 1, "both": 1}
    accepted = cast("dict[str, int]", figures["accepted"])
    assert accepted.keys() == {"logs", "spans", "segments", "stream logs", "syslog"}
    assert all(accepted.values()), accepted
