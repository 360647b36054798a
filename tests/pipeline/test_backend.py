"""Calls that a backend answers: passed on while the client waits, with the backend's answers and errors."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from mmapqueue.pipeline._channels import Channels
from mmapqueue.pipeline.gather.receivers.skywalking import SkyWalkingReceiver
from pipeline.receiving import grpc_receiver
from pipeline.serving import Serving, certificates

CDS = "/skywalking.v3.ConfigurationDiscoveryService/fetchConfigurations"
COLLECT = "/skywalking.v10.AsyncProfilerTask/collect"
QUESTIONS = [
    CDS,
    "/skywalking.v3.ProfileTask/getProfileTaskCommands",
    "/ProfileTask/reportTaskFinish",
    "/skywalking.v10.AsyncProfilerTask/getAsyncProfilerTaskCommands",
    "/skywalking.v10.PprofTask/getPprofTaskCommands",
    "/skywalking.v3.EBPFProcessService/reportProcesses",
    "/skywalking.v3.EBPFProfilingService/queryTasks",
    "/skywalking.v3.ContinuousProfilingService/queryPolicies",
    "/skywalking.v3.ContinuousProfilingService/reportProfilingTask",
]


def receiver(endpoint: str, **options: Any) -> SkyWalkingReceiver:
    return SkyWalkingReceiver.model_validate({"server": "grpc", "backend": {"endpoint": endpoint, **options}})


def ask(serving: Serving, path: str = CDS, message: bytes = b"question") -> bytes:
    with grpc.insecure_channel(serving.grpc_address) as channel:
        reply: bytes = channel.unary_unary(path)(message, timeout=60)
        return reply


def refused(serving: Serving, path: str = CDS) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        ask(serving, path)
    return caught.value.code(), caught.value.details()


def test_questions_get_the_answers_of_the_backend_and_are_not_stored() -> None:
    with (
        grpc_receiver(answer=b"commands") as (endpoint, backend),
        Serving(receiver(endpoint, headers={"Authentication": "t0ken"})) as serving,
    ):
        assert [ask(serving, path, path.encode()) for path in QUESTIONS] == [b"commands"] * len(QUESTIONS)
        assert not serving.inbox.records
    assert [(each.path, each.messages) for each in backend.calls] == [(path, [path.encode()]) for path in QUESTIONS]
    assert {each.metadata["authentication"] for each in backend.calls} == {"t0ken"}


def test_data_goes_to_the_queue_although_there_is_a_backend() -> None:
    with grpc_receiver(answer=b"commands") as (endpoint, backend), Serving(receiver(endpoint)) as serving:
        assert ask(serving, "/skywalking.v3.ManagementService/keepAlive", b"\x0a\x01x") == b""
        assert ask(serving, "/skywalking.v3.EBPFProcessService/keepAlive", b"\x0a\x01y") == b""
        assert [each.data for each in serving.events] == [b"\x0a\x01x", b"\x0a\x01y"]
    assert not backend.calls


def test_questions_of_other_signals_are_answered_here() -> None:
    with grpc_receiver(answer=b"commands") as (endpoint, backend):
        own = SkyWalkingReceiver.model_validate(
            {"server": "grpc", "signals": ["cds"], "backend": {"endpoint": endpoint}}
        )
        with Serving(own) as serving:
            assert [ask(serving, path) for path in QUESTIONS] == [b"commands"] + [b""] * (len(QUESTIONS) - 1)
            assert refused(serving, COLLECT)[0] == grpc.StatusCode.UNIMPLEMENTED
    assert len(backend.calls) == 1


def test_without_a_backend_questions_are_answered_and_uploads_unknown() -> None:
    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        assert [ask(serving, path) for path in QUESTIONS] == [b""] * len(QUESTIONS)
        assert refused(serving, COLLECT)[0] == grpc.StatusCode.UNIMPLEMENTED


def test_errors_of_the_backend_reach_the_client() -> None:
    codes = [grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAVAILABLE]

    def fail(position: int, context: grpc.ServicerContext) -> None:
        context.abort(codes[position], "because")

    with grpc_receiver(fail) as (endpoint, backend), Serving(receiver(endpoint)) as serving:
        answers = [refused(serving) for _ in codes]
        assert answers[:2] == [(codes[0], "because"), (codes[1], "because")]
        assert answers[2] == (codes[2], f"the backend {endpoint} of {CDS}: because")
    assert len(backend.calls) == 3


def test_a_connection_that_ends_while_a_call_begins_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    none = grpc.aio.Metadata()
    error = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, none, none, details="Internal error from Core")

    class Ended:
        def stream_stream(self, _: str) -> Any:
            raise error

    async def pick(_: Channels) -> Ended:
        return Ended()

    monkeypatch.setattr(Channels, "pick", pick)
    with Serving(receiver("127.0.0.1:1")) as serving:
        details = f"the backend 127.0.0.1:1 of {CDS}: Internal error from Core"
        assert refused(serving) == (grpc.StatusCode.UNAVAILABLE, details)


def test_a_backend_that_is_away_is_named_and_found_when_it_is_back() -> None:
    with grpc_receiver() as (gone, _):
        pass
    with Serving(receiver(gone)) as serving:
        code, details = refused(serving)
    assert code == grpc.StatusCode.UNAVAILABLE
    assert details.startswith(f"the backend {gone} of {CDS}: ")
    with grpc_receiver() as (other, _):
        pass
    with Serving(receiver(f"{gone},{other}")) as serving:
        code, details = refused(serving)
    assert (code, details) == (grpc.StatusCode.UNAVAILABLE, f"the backend {gone},{other} cannot be connected")
    with grpc_receiver(answer=b"commands") as (endpoint, _), Serving(receiver(f"{gone},{endpoint}")) as serving:
        assert [ask(serving) for _ in range(3)] == [b"commands"] * 3


def test_a_backend_without_an_answer_is_unavailable_after_the_timeout() -> None:
    release = threading.Event()

    def wait(_position: int, _context: grpc.ServicerContext) -> None:
        release.wait(60)

    with (
        grpc_receiver(wait) as (endpoint, _),
        Serving(receiver(endpoint, timeout="100ms")) as serving,
    ):
        try:
            assert refused(serving) == (
                grpc.StatusCode.UNAVAILABLE,
                f"the backend {endpoint} did not answer {CDS} in 0.1 s",
            )
        finally:
            release.set()


def test_backends_that_do_not_finish_the_connection_are_unavailable_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        endpoint = ",".join(f"127.0.0.1:{each.getsockname()[1]}" for each in (one, two))
        with Serving(receiver(endpoint, timeout="100ms")) as serving:
            details = f"the backend {endpoint} cannot be connected"
            assert refused(serving) == (grpc.StatusCode.UNAVAILABLE, details)


def test_a_backend_with_tls(tmp_path: Path) -> None:
    files = certificates(tmp_path)
    pair = (files["server.key"].read_bytes(), files["server.pem"].read_bytes())
    with (
        grpc_receiver(answer=b"commands", tls=grpc.ssl_server_credentials([pair])) as (endpoint, _),
        Serving(receiver(endpoint, tls={"ca": str(files["ca.pem"])})) as serving,
    ):
        assert ask(serving) == b"commands"


class Uploads(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers the first message of a stream at once, and keeps the others."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.ended = threading.Event()
        self.cut = threading.Event()

    def service(self, _details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        def take(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            context.add_callback(self.cut.set)
            self.got.append(next(messages))
            yield b"go on"
            self.got += messages
            self.ended.set()

        return grpc.stream_stream_rpc_method_handler(take)


@contextmanager
def uploads() -> Iterator[tuple[str, Uploads]]:
    handler = Uploads()
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, handlers=[handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}", handler
        finally:
            server.stop(None).wait()


def test_an_upload_is_answered_before_it_ends() -> None:
    with uploads() as (endpoint, backend), Serving(receiver(endpoint)) as serving:
        answered = threading.Event()

        def messages() -> Iterator[bytes]:
            yield b"metadata"
            answered.wait(60)
            yield b"x" * 1_000_000
            yield b"end"

        with grpc.insecure_channel(serving.grpc_address) as channel:
            replies = channel.stream_stream(COLLECT)(messages(), timeout=60)
            assert next(replies) == b"go on"
            answered.set()
            assert list(replies) == []
        assert backend.ended.wait(60)
        assert backend.got == [b"metadata", b"x" * 1_000_000, b"end"]


def test_an_upload_whose_client_leaves_is_cut_at_the_backend() -> None:
    with uploads() as (endpoint, backend), Serving(receiver(endpoint)) as serving:
        left = threading.Event()

        def messages() -> Iterator[bytes]:
            yield b"metadata"
            left.wait(60)

        with grpc.insecure_channel(serving.grpc_address) as channel:
            replies = channel.stream_stream(COLLECT)(messages(), timeout=60)
            assert next(replies) == b"go on"
            replies.cancel()
            assert backend.cut.wait(60)
            left.set()
        assert backend.got == [b"metadata"]
