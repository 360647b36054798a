"""Files of TLS that are wrong: one line that names the key, the file and the reason."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from mmapqueue._cli.main import main
from mmapqueue.pipeline.config import ClientTls, load, tls_context, tls_faults
from mmapqueue.pipeline.gather.receivers.fluent import FluentReceiver
from mmapqueue.pipeline.gather.receivers.syslog import SyslogReceiver
from mmapqueue.pipeline.plugins import Receiver
from mmapqueue.pipeline.process.runner import Processor, StartError
from mmapqueue.pipeline.process.senders import Undelivered, _worker
from mmapqueue.pipeline.process.senders.http import HttpSender

from .configuring import OTLP, pipeline
from .sending import row
from .serving import Serving, certificates

NO_CERTIFICATE = "is not a PEM file with a certificate"
NO_KEY = "is not a PEM file with a private key"
MISMATCH = "does not match the certificate '{dir}/server.pem'"
ENCRYPTED = "has an encrypted private key; allowed: one without a password"
#: certificate, key, authority: the key at fault and the words.
WRONG = {
    "another certificate's key": ("server.pem", "client.key", "ca.pem", "key", MISMATCH),
    "key of another algorithm": ("server.pem", "rsa.key", "ca.pem", "key", MISMATCH),
    "encrypted key": ("server.pem", "encrypted.key", "ca.pem", "key", ENCRYPTED),
    "no key": ("server.pem", "server.pem", "ca.pem", "key", NO_KEY),
    "damaged key": ("server.pem", "damaged.key", "ca.pem", "key", NO_KEY),
    "no certificate": ("server.key", "server.key", "ca.pem", "certificate", NO_CERTIFICATE),
    "damaged certificate": ("damaged.pem", "server.key", "ca.pem", "certificate", NO_CERTIFICATE),
    "empty key": ("server.pem", "empty", "ca.pem", "key", "is empty"),
    "empty certificate": ("empty", "server.key", "ca.pem", "certificate", "is empty"),
    "no authority": ("server.pem", "server.key", "text", "ca", NO_CERTIFICATE),
    "directory": ("server.pem", ".", "ca.pem", "key", "cannot be read: Is a directory"),
}
SERVERS = (
    "{name: grpc, type: grpc, listen: ':0', tls: {certificate: server.pem, key: client.key}}",
    "{name: http, type: http, listen: ':0', tls: {certificate: server.pem, key: server.key, client_ca: text}}",
)
RECEIVER = "{type: syslog, listen: 'tls+tcp://:0', tls: {certificate: empty, key: server.key}}"
BACKEND = "{type: skywalking, server: grpc, backend: {endpoint: 'a:1', tls: {ca: text}}}"
FETCHER = "{type: prometheus, targets: ['https://a/metrics'], ca: text}"
SENDER = "{type: http, url: 'https://a', tls: {certificate: server.pem, key: text}}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("made")
    certificates(directory)
    for arguments in (
        "genpkey -algorithm RSA -out rsa.key",
        "pkey -in server.key -aes256 -passout pass:secret -out encrypted.key",
    ):
        subprocess.run(["openssl", *arguments.split()], check=True, capture_output=True, cwd=directory)
    (directory / "empty").write_text("\n")
    (directory / "text").write_text("nothing")
    for name, what in (("damaged.pem", "CERTIFICATE"), ("damaged.key", "PRIVATE KEY")):
        (directory / name).write_text(f"-----BEGIN {what}-----\n?\n-----END {what}-----\n")
    pair = (directory / "server.key").read_bytes() + (directory / "server.pem").read_bytes()
    (directory / "both.pem").write_bytes(pair)
    return directory


@pytest.fixture
def files(made: Path, tmp_path: Path) -> Path:
    """The directory of a configuration, with the files."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_names_key_file_and_reason(name: str, made: Path) -> None:
    certificate, key, ca, at, words = WRONG[name]
    tls = ClientTls(certificate=made / certificate, key=made / key, ca=made / ca)
    (fault,) = tls_faults(tls)
    assert (fault.key, fault.readable) == (at, name != "directory")
    assert fault.words == f"'{getattr(tls, at)}' {words.format(dir=made)}"
    with pytest.raises(mmapqueue.ConfigError) as caught:
        tls_context(tls, "server a: tls")
    assert str(caught.value) == f"server a: tls.{at}: {fault.words}"


def test_files_that_are_right_have_no_fault(made: Path) -> None:
    for right in (
        ClientTls(),
        ClientTls(ca=made / "ca.pem"),
        ClientTls(certificate=made / "server.pem", key=made / "server.key"),
        ClientTls(certificate=made / "both.pem"),
        ClientTls(certificate=made / "both.pem", key=made / "both.pem"),
    ):
        assert tls_faults(right) == []


def test_a_configuration_with_wrong_files_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = files / "shop.yaml"
    pipe = f"fetchers: [{FETCHER}]\nsenders: [{SENDER}]"
    receivers = f"{OTLP}, {{type: http, server: http}}, {RECEIVER}, {BACKEND}"
    file.write_text(pipeline(servers=", ".join(SERVERS), receivers=receivers, pipe=pipe))
    for command in ("check", "gather", "process"):
        assert main([command, str(file)]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"{file}:1: servers[0].tls.key: '{files}/client.key' does not match the certificate '{files}/server.pem'",
            f"{file}:1: servers[1].tls.client_ca: '{files}/text' {NO_CERTIFICATE}",
            f"{file}:5: pipes[0].receivers[2].tls.certificate: '{files}/empty' is empty",
            f"{file}:5: pipes[0].receivers[3].backend.tls.ca: '{files}/text' {NO_CERTIFICATE}",
            f"{file}:6: pipes[0].fetchers[0].ca: '{files}/text' {NO_CERTIFICATE}",
            f"{file}:7: pipes[0].senders[0].tls.key: '{files}/text' {NO_KEY}",
        ]


def test_a_file_of_a_pipe_may_be_where_its_half_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(pipeline(pipe="senders: [{type: mmapqueue, endpoint: 'a:1', tls: {ca: none.pem}}]"))
    assert main(["check", str(file)]) == 0
    place = "pipes[0].senders[0].tls.ca"
    words = f"'{tmp_path}/none.pem' cannot be read: No such file or directory"
    assert capsys.readouterr().err == f"warning: {file}: {place}: {words}\n"


@pytest.mark.parametrize(
    "receiver",
    [
        SyslogReceiver(listen="tls+tcp://127.0.0.1:0", tls={"certificate": "/none.pem", "key": "/none.key"}),  # type: ignore[arg-type]
        FluentReceiver(listen="tls+tcp://127.0.0.1:0", tls={"certificate": "/none.pem", "key": "/none.key"}),  # type: ignore[arg-type]
    ],
    ids=lambda receiver: receiver.type,
)
def test_a_receiver_does_not_start_without_its_files(receiver: Receiver) -> None:
    words = (
        f"pipe pipe: receiver {receiver.type}: tls.certificate: '/none.pem' cannot be read: No such file or directory"
    )
    with pytest.raises(mmapqueue.ConfigError) as caught, Serving(receiver):
        pass
    assert str(caught.value).startswith(words)


def test_process_does_not_start_without_the_files_of_a_sender(spark: Any, tmp_path: Path) -> None:
    mmapqueue.Queue(tmp_path / "q", capacity="8m", segment_size="64k").close()
    file = tmp_path / "shop.yaml"
    file.write_text(
        "pipes:\n- name: logs\n  queue: {dir: q, capacity: 8m, segment_size: 64k}\n"
        "  senders: [{type: http, url: 'https://a', tls: {ca: none.pem}}]\n"
    )
    with pytest.raises(StartError) as caught:
        Processor(load(file), spark).start()
    words = f"'{tmp_path}/none.pem' cannot be read: No such file or directory"
    assert str(caught.value) == f"pipe logs, sender http: tls.ca: {words}"


def test_requests_wait_while_a_file_is_wrong(made: Path, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("")
    sender = HttpSender.model_validate({"name": "s", "url": "https://a", "tls": {"ca": ca}})

    async def reason() -> str:
        client = await _worker._client(sender, "1")
        try:
            if isinstance(client, _worker._NoClient):
                with pytest.raises(Undelivered) as caught:
                    await client.send("", [row(0, b"")], "key")
                assert caught.value.retryable
                return caught.value.reason
            return ""
        finally:
            await client.close()

    assert _worker._submit(reason()).result(60) == f"tls.ca: '{ca}' is empty"
    shutil.copyfile(made / "ca.pem", ca)
    assert _worker._submit(reason()).result(60) == ""
