"""Short forms of the kill loops: both halves under load from real clients, clients with keys, and a backlog."""

from pathlib import Path
from typing import cast

import pytest

from conftest import LONG

from . import backlog_kills, keyed_kill_loop, kill_loop
from .keyed_clients import CLIENTS


@pytest.mark.slow
@pytest.mark.long_form
def test_everything_accepted_survives_kills_of_both_halves(tmp_path: Path) -> None:
    # The test of the demo kills gather alone, and process alone.
    acts = kill_loop.ACTS if LONG else ("both", "bad file", "kill in a restart")
    figures = kill_loop.run(len(acts), tmp_path, seed=1, processes=2, acts=acts)
    accepted = cast("dict[str, int]", figures["accepted"])
    assert accepted.keys() == {"logs", "spans", "segments", "stream logs", "syslog"}
    assert all(accepted.values()), accepted


@pytest.mark.slow
@pytest.mark.long_form
@pytest.mark.parametrize("processes", [1, 2] if LONG else [2])
def test_clients_with_keys_have_each_event_stored_once(tmp_path: Path, processes: int) -> None:
    figures = keyed_kill_loop.run(20 if LONG else 3, tmp_path, seed=1, processes=processes)
    answered = cast("dict[str, int]", figures["by client"])
    assert answered.keys() == set(CLIENTS)
    assert sum(answered.values()) == figures["events, each there once"]


@pytest.mark.slow
def test_a_killed_sender_repeats_only_requests_without_answer(tmp_path: Path) -> None:
    # All are in two micro-batches, and each request takes a tenth of a second.
    figures = backlog_kills.run(20_000, tmp_path, every=0.5, pause=0.1)
    kills = cast("int", figures["kills"])
    assert kills > 1
    assert cast("int", figures["repeated"]) <= 1000 * kills
