"""TLS of senders: the receiver's certificate is checked, and a client certificate is sent."""

import shutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from mmapqueue.pipeline._event import OTLP_LOGS
from mmapqueue.pipeline._skywalking import SEGMENT
from mmapqueue.pipeline.process.senders import NetworkSender, _worker
from mmapqueue.pipeline.process.senders._delivery import Retry
from mmapqueue.pipeline.process.senders._requests import END
from mmapqueue.pipeline.process.senders._worker import Report, Task
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.otlp import OtlpSender
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from pipeline.receiving import grpc_receiver, http_receiver
from pipeline.sending import failed, row, sent
from pipeline.serving import certificates


class Receivers(NamedTuple):
    """Receivers that want client certificates.

    Attributes:
        endpoint: Address of the gRPC receiver.
        url: URL of the HTTP receiver.
        taken: Number of requests that both have taken.
    """

    endpoint: str
    url: str
    taken: Callable[[], int]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def receivers(files: dict[str, Path]) -> Iterator[Receivers]:
    ca, key, chain = (files[name].read_bytes() for name in ("ca.pem", "server.key", "server.pem"))
    credentials = grpc.ssl_server_credentials([(key, chain)], ca, require_client_auth=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["server.pem"], files["server.key"])
    context.load_verify_locations(files["ca.pem"])
    context.verify_mode = ssl.CERT_REQUIRED
    with ExitStack() as stack:
        endpoint, by_grpc = stack.enter_context(grpc_receiver(tls=credentials))
        by_http = stack.enter_context(http_receiver(tls=context))
        yield Receivers(endpoint, by_http.url, lambda: len(by_grpc.calls) + len(by_http.taken))


def senders(receivers: Receivers, tls: dict[str, Any]) -> list[NetworkSender]:
    by_grpc = {"name": "s", "endpoint": receivers.endpoint, "tls": tls}
    return [
        OtlpSender.model_validate(by_grpc),
        OtlpSender.model_validate({"name": "s", "endpoint": receivers.url, "protocol": "http", "tls": tls}),
        HttpSender.model_validate({"name": "s", "url": receivers.url, "tls": tls}),
        SkyWalkingSender.model_validate(by_grpc),
        EventsSender.model_validate(by_grpc),
    ]


def a_row(sender: NetworkSender) -> dict[str, Any]:
    return row(0, b"", SEGMENT if sender.type == "skywalking" else OTLP_LOGS, record=b"event")


def test_a_trusted_receiver_gets_the_request(receivers: Receivers, files: dict[str, Path]) -> None:
    tls = {"ca": files["ca.pem"], "certificate": files["client.pem"], "key": files["client.key"]}
    made = senders(receivers, tls)
    for sender in made:
        sent(sender, a_row(sender))
    assert receivers.taken() == len(made)


# Python 3.10 leaves the transport of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
@pytest.mark.parametrize("missing", ["ca", "certificate"])
def test_without_trust_nothing_is_sent(receivers: Receivers, files: dict[str, Path], missing: str) -> None:
    tls = (
        {"certificate": files["client.pem"], "key": files["client.key"]} if missing == "ca" else {"ca": files["ca.pem"]}
    )
    for sender in senders(receivers, tls):
        # The certificate may be there a moment later: another attempt may succeed.
        assert failed(sender, a_row(sender)).retryable
    assert receivers.taken() == 0


class SparkRow:
    """As much of Spark's Row as tasks need."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.asDict = values.copy


# Python 3.10 leaves the transport of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
def test_workers_read_a_certificate_anew_after_a_reload(
    receivers: Receivers, files: dict[str, Path], tmp_path: Path
) -> None:
    ca = tmp_path / "ca.pem"
    shutil.copy(files["client.pem"], ca)
    made = senders(receivers, {"ca": ca, "certificate": files["client.pem"], "key": files["client.key"]})

    def kinds(sender: NetworkSender) -> list[str]:
        # The next attempt is one of the driver, so that the task ends.
        waits = sender.model_copy(update={"retry": Retry.model_validate({"backoff": {"first": "30s"}})})
        task = Task(waits, {0: "q"}, {}, {}, Path("/nowhere"), 0, version=waits._version())
        reports: list[Report] = list(task.run([SparkRow(a_row(sender)), SparkRow({"partition": 0, "offset": END})]))  # type: ignore[list-item]
        return [each.kind for each in reports]

    try:
        assert [kinds(each) for each in made] == [["waiting"]] * len(made)
        shutil.copy(files["ca.pem"], ca)
        assert [kinds(each) for each in made] == [["count", "done"]] * len(made)
        assert receivers.taken() == len(made)
    finally:
        for _, client in _worker._clients.values():
            _worker._submit(client.close()).result()
        _worker._clients.clear()
