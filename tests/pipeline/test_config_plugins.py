"""Plugins of other distributions in a configuration, and its JSON Schema."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmapqueue._cli.main import main
from mmapqueue.pipeline import plugins
from mmapqueue.pipeline.config import ConfigFileError
from pipeline.configuring import (
    load_text,
)


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution with a receiver, one that cannot be imported, and one that is not a receiver."""
    root = tmp_path / "site"
    (root / "third-1.0.dist-info").mkdir(parents=True)
    (root / "third-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (root / "third-1.0.dist-info" / "entry_points.txt").write_text(
        "[mmapqueue.receivers]\nwebhook = third_party_webhook:Webhook\nbroken = third_party_broken:Broken\n"
        "wrong = third_party_webhook:PORTS\n"
    )
    (root / "third_party_broken.py").write_text("1 / 0\n")
    (root / "third_party_webhook.py").write_text(
        "from typing import Literal\n"
        "from mmapqueue.pipeline.plugins import Receiver, Size\n"
        "PORTS = 5\n"
        "class Webhook(Receiver):\n"
        "    type: Literal['webhook'] = 'webhook'\n"
        "    ports: list[int] | Literal['all'] = 'all'\n"
        "    limit: Size = 5\n"
        "    async def start(self, host):\n"
        "        pass\n"
    )
    monkeypatch.syspath_prepend(root)
    plugins.entries.cache_clear()
    yield root
    plugins.entries.cache_clear()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("{type: webhook, ports: [1, x]}", "ports[1]: 'x' is invalid; allowed: a whole number"),
        ("{type: webhook, limit: 0}", "limit: 0 is invalid; allowed: at least 1"),
        ("{type: broken}", "type: the receiver 'broken' cannot be loaded: ZeroDivisionError: division by zero"),
        (
            "{type: wrong}",
            "type: the receiver 'wrong' cannot be loaded: TypeError: third_party_webhook:PORTS, which is installed as "
            "'wrong' in mmapqueue.receivers, is not a Receiver",
        ),
    ],
)
@pytest.mark.usefixtures("third_party")
def test_errors_of_third_party_plugins(options: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigFileError) as refused:
        load_text(tmp_path, f"pipes:\n- name: a\n  queue: {{dir: q}}\n  receivers: [{options}]\n")
    assert refused.value.problems[0] == f"{tmp_path}/my shop.yaml:4: pipes[0].receivers[0].{line}"


@pytest.mark.usefixtures("third_party")
def test_a_third_party_plugin_is_loaded(tmp_path: Path) -> None:
    text = "pipes:\n- name: a\n  queue: {dir: q}\n  receivers: [{type: webhook, ports: [1], limit: 2k}]\n"
    receiver = load_text(tmp_path, text).pipes[0].receivers[0]
    assert (type(receiver).__name__, receiver.ports, receiver.limit) == ("Webhook", [1], 2048)


def test_the_schema_has_all_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["required"] == ["pipes"]
    pipe = schema["$defs"]["Pipe"]["properties"]
    for key, group in {"receivers": "receivers", "fetchers": "fetchers", "senders": "senders"}.items():
        mapping = pipe[key]["items"]["discriminator"]["mapping"]
        assert set(mapping) == set(plugins.entries(f"mmapqueue.{group}"))
    spark = schema["$defs"]["SparkSender"]
    assert "type" in spark["required"]
    assert "name" not in spark["required"]
    processes = schema["$defs"]["Gather"]["properties"]["processes"]
    assert processes["default"] == 1
    assert {"type": "string", "pattern": r"\$\{[^}]*\}"} in processes["anyOf"]
