"""Receivers and the backend beside reloads, a full queue and a full disk: what clients see, and what is stored."""

import contextlib
import itertools
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import grpc
import pytest

import mmapqueue
from conftest import eventually

from .numbering import (
    ANSWERED,
    FILLER,
    LATER,
    SECONDS,
    SENT,
    AskingClient,
    Client,
    FluentClient,
    RemoteWriteClient,
    Running,
    SkyWalkingClient,
    StatsdClient,
    SyslogClient,
    sending,
)
from .receiving import grpc_receiver
from .serving import certificates

QUEUE = "{{dir: {}, capacity: 8m, segment_size: 64k, max_event_size: 128k}}"
CLIENTS = {
    "fluent": FluentClient,
    "remote_write": RemoteWriteClient,
    "skywalking": SkyWalkingClient,
    "syslog": SyslogClient,
    "statsd": StatsdClient,
}
PLAIN = list(CLIENTS)
#: Those that may have TLS.
SECURE = [name for name in CLIENTS if name != "statsd"]


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two directories of certificates, each of an authority of its own."""
    made = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    for each in made:
        certificates(each)
    return made


@pytest.fixture
def tls(tmp_path: Path, authorities: tuple[Path, Path]) -> Path:
    """A directory of certificates that a test may replace."""
    made = tmp_path / "tls"
    made.mkdir()
    replace(made, authorities[0])
    return made


def replace(tls: Path, authority: Path) -> None:
    for name in ("ca.pem", "server.pem", "server.key", "client.pem", "client.key"):
        (tls / name).write_bytes((authority / name).read_bytes())


def running(tmp_path: Path, text: str) -> Running:
    file = tmp_path / "shop.yaml"
    file.write_text(text)
    return Running(file)


def stored(client: Client, agent: Running) -> Counter[int]:
    return Counter(number for each in agent.events for number in client.numbers(each))


@pytest.mark.parametrize(("name", "secure"), [*((each, False) for each in PLAIN), ("fluent", True), ("syslog", True)])
def test_a_reload_touches_only_the_clients_of_what_has_changed(
    name: str, secure: bool, tmp_path: Path, tls: Path
) -> None:
    client: Client = CLIENTS[name](tls if secure else None)
    original = client.text(QUEUE.format("queue"))
    more = "- name: more\n  queue: {dir: more, capacity: 8m, segment_size: 64k}\n  receivers: [%s]\n"
    others = (
        client.text(QUEUE.format("queue"), "on_full: block"),
        original.replace("receivers: [", "receivers: [{type: statsd, listen: 'udp://127.0.0.1:0'}, "),
        original + more % "{type: statsd, listen: 'udp://127.0.0.1:0'}",
        original,
    )
    with running(tmp_path, original) as agent, client.of(agent):
        with sending(client, itertools.count()) as first:
            for text in others:
                first.go_on()
                agent.reload(text)
            first.go_on()
        # All of them by one connection.
        assert first.ended == 0
        assert {each[-1] for each in first.outcomes.values()} == {ANSWERED if client.keyed else SENT}
        assert eventually(lambda: stored(client, agent) == Counter([*first.outcomes]), SECONDS)
        assert len({each.source for each in agent.events}) == 1

        # Now the receiver itself, or its server, changes.
        own = original.replace(*client.change)
        assert own != original
        with sending(client, itertools.count(len(first.outcomes))) as second:
            for text in (own, original) * 2:
                second.go_on()
                agent.reload(text)
            second.go_on()
        answered = {number for number, each in second.outcomes.items() if each[-1] == ANSWERED}
        found = stored(client, agent)
        assert set(found.values()) == {1}
        if client.keyed:
            assert set(found) == set(first.outcomes) | answered
        else:
            # The last ones come by a connection that has not ended.
            assert eventually(lambda: max(second.outcomes) in stored(client, agent), SECONDS)
        assert len({each.source for each in agent.events}) > 2


@pytest.mark.parametrize("name", SECURE)
def test_a_reload_reads_certificates_and_secrets_anew(
    name: str, tmp_path: Path, tls: Path, authorities: tuple[Path, Path]
) -> None:
    client: Client = CLIENTS[name](tls)
    text = client.text(QUEUE.format("queue"))
    with running(tmp_path, text) as agent, client.of(agent):

        def is_stored(number: int) -> bool:
            client.send(number)
            found = eventually(lambda: stored(client, agent)[number] == 1, SECONDS)
            client.close()
            return found

        assert is_stored(0)
        # Other files have no effect before the reload.
        replace(tls, authorities[1])
        client.ca = authorities[0] / "ca.pem"
        assert is_stored(1)
        agent.reload(text)
        with pytest.raises(OSError):  # noqa: PT011
            is_stored(2)
        client.ca = authorities[1] / "ca.pem"
        assert is_stored(3)
        # With a file that is no certificate, what was there goes on.
        (tls / "server.pem").write_text("none")
        with pytest.raises((OSError, ValueError)):
            agent.reload(text)
        assert is_stored(4)
        replace(tls, authorities[1])
        if isinstance(client, RemoteWriteClient | SkyWalkingClient):
            agent.reload(text.replace("listen:", "bearer_token: new, listen:", 1))
            with pytest.raises(ConnectionRefusedError, match="token"):
                is_stored(5)
            client.token = "new"
        elif isinstance(client, FluentClient):
            agent.reload(text.replace("shared_key: open", "shared_key: new"))
            with pytest.raises(ConnectionRefusedError, match="key"):
                is_stored(5)
            client.shared_key = "new"
        else:
            agent.reload(text)
        assert is_stored(6)
        assert stored(client, agent) == Counter([0, 1, 3, 4, 6])


# ---- a queue that refuses


def endlessly(act: Callable[[], object]) -> NoReturn:
    while True:
        act()


@contextlib.contextmanager
def full_queue(agent: Running, _: Path) -> Iterator[Callable[[], None]]:
    """Fills the queue; what it returns makes room."""
    queue = agent.queue
    queue.create_consumer("reader")
    for size in (4000, 1):
        with pytest.raises(mmapqueue.Full):
            endlessly(lambda: queue.push(FILLER * size, block=False))  # noqa: B023

    def free() -> None:
        with queue.consumer("reader") as consumer:
            consumer.ack_up_to(consumer.pop_many(100)[-1])

    yield free


@contextlib.contextmanager
def full_disk(agent: Running, disk: Path) -> Iterator[Callable[[], None]]:
    """Fills the disk; what it returns makes room."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        endlessly(lambda: file.write(bytes(4096)))
    for size in (4000, 1):
        with pytest.raises(mmapqueue.MmapQueueError, match="No space left"):
            endlessly(lambda: agent.queue.push(FILLER * size, block=False))  # noqa: B023
    yield filler.unlink


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MiB."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", path], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no disk of a small size: mount needs root")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.mark.parametrize("full", [full_queue, full_disk])
@pytest.mark.parametrize("name", PLAIN)
def test_clients_wait_or_send_again_until_there_is_room(name: str, full: Any, request: Any, tmp_path: Path) -> None:
    directory = request.getfixturevalue("disk") if full is full_disk else tmp_path
    client: Client = CLIENTS[name]()
    status = "failed" if full is full_disk else "rejected"
    with running(tmp_path, client.text(QUEUE.format(directory / "queue"))) as agent, client.of(agent):
        for number in range(3):
            client.send(number)
        assert eventually(lambda: stored(client, agent) == Counter([0, 1, 2]), SECONDS)
        with full(agent, directory) as free, sending(client, itertools.count(3)) as now:
            assert eventually(lambda: agent.counts.received[status] >= 3, SECONDS)
            # Who gets answers has none, or one that says later.
            assert {outcome for each in now.outcomes.values() for outcome in each} <= {LATER, SENT}
            assert stored(client, agent) == Counter([0, 1, 2])
            free()
            now.go_on()
        # A queue that has made room may have given up the first ones.
        assert eventually(lambda: stored(client, agent) - Counter([0, 1, 2]) == Counter([*now.outcomes]), SECONDS)
        if isinstance(client, RemoteWriteClient | SkyWalkingClient):
            assert now.outcomes[3][-1] == ANSWERED
            assert LATER in now.outcomes[3]
        assert now.ended == 0


# ---- the backend that answers questions


def asking(endpoint: str, options: str = "") -> tuple[AskingClient, str]:
    """A client, and its configuration."""
    client = AskingClient(endpoint, options)
    return client, client.text(QUEUE.format("queue"))


def test_questions_are_answered_beside_reloads_and_the_end_of_a_backend(tmp_path: Path) -> None:
    peers: set[str] = set()

    def note(_: int, context: grpc.ServicerContext) -> None:
        peers.add(context.peer())

    with contextlib.ExitStack() as first, grpc_receiver(note, b"second") as (second, _):
        gone, _ = first.enter_context(grpc_receiver(note, b"first"))
        client, text = asking(f"{gone},{second}")
        with running(tmp_path, text) as agent, client.of(agent):
            with sending(client, itertools.count()) as before:
                for each in (client.text(QUEUE.format("queue"), "on_full: block"), text):
                    before.go_on()
                    agent.reload(each)
                before.go_on()
            assert {outcome for each in before.outcomes.values() for outcome in each} == {ANSWERED}
            assert set(client.answers) == {b"first", b"second"}
            assert len(peers) == 2  # one connection to each
            with sending(client, itertools.count()) as after:
                after.go_on()
                first.close()
                client.answers.clear()
                after.go_on()
                agent.reload(text.replace("type: grpc", "type: grpc, max_requests: 999"))
                after.go_on()
            assert set(client.answers[1:]) == {b"second"}
            assert not agent.events


def test_a_question_that_a_backend_has_is_answered_by_it_when_another_one_takes_over(tmp_path: Path) -> None:
    arrived, release = threading.Event(), threading.Event()

    def hold(position: int, _: grpc.ServicerContext) -> None:
        if position == 0:
            arrived.set()
            release.wait(SECONDS)

    with grpc_receiver(hold, b"old") as (old, _), grpc_receiver(answer=b"new") as (new, _):
        client, text = asking(old, "timeout: 60s")
        with running(tmp_path, text) as agent, client.of(agent), ThreadPoolExecutor(2) as pool:
            held = pool.submit(client.send, 0)
            assert arrived.wait(SECONDS)
            reload = pool.submit(agent.reload, text.replace(old, new))
            # The new one is asked before the old one has answered.
            assert eventually(lambda: client.ask(1) == b"new", SECONDS)
            assert not held.done()
            release.set()
            reload.result(SECONDS)
            assert held.result(SECONDS) == ANSWERED
            assert client.answers == [b"old"]


def test_questions_are_answered_while_the_queue_is_full(tmp_path: Path) -> None:
    with grpc_receiver(answer=b"commands") as (endpoint, _):
        client, text = asking(endpoint)
        with running(tmp_path, text) as agent, client.of(agent), full_queue(agent, tmp_path) as free:
            assert client.send(0) == ANSWERED
            assert client.report(1) == LATER
            assert client.send(2) == ANSWERED
            free()
            assert eventually(lambda: client.report(1) == ANSWERED, SECONDS)
            assert stored(client, agent) == Counter([1])


def test_a_reload_reads_the_authority_of_a_backend_anew(
    tmp_path: Path, tls: Path, authorities: tuple[Path, Path]
) -> None:
    pair = (authorities[1] / "server.key").read_bytes(), (authorities[1] / "server.pem").read_bytes()
    with grpc_receiver(answer=b"commands", tls=grpc.ssl_server_credentials([pair])) as (endpoint, _):
        client, text = asking(endpoint, f"tls: {{ca: {tls}/ca.pem}}")
        with running(tmp_path, text) as agent, client.of(agent):
            assert client.send(0) == LATER
            replace(tls, authorities[1])
            agent.reload(text)
            assert client.send(1) == ANSWERED
