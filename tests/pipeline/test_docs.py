"""Examples of the collector's documents."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from conftest import Open
from mmapqueue.pipeline import Event, plugins
from mmapqueue.pipeline.config import load
from mmapqueue.pipeline.gather.agent import Agent

DOCS = Path(__file__).parents[2] / "docs"
PLUGINS = DOCS / "reference" / "pipeline" / "plugins.md"
HOW_TO = DOCS / "howto" / "pipeline.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The receiver of the page on plugins, installed as another distribution would install it."""
    site = tmp_path / "site"
    (site / "shop").mkdir(parents=True)
    (site / "shop" / "webhook.py").write_text(
        next(block for block in blocks(PLUGINS, "python") if "class Webhook" in block)
    )
    metadata = site / "shop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        blocks(PLUGINS, "toml")[0].replace("project.entry-points.", "").replace('"', "")
    )
    monkeypatch.syspath_prepend(site)
    plugins.entries.cache_clear()
    yield
    plugins.entries.cache_clear()


@pytest.mark.usefixtures("webhook")
def test_the_plugin_works(tmp_path: Path, open_queue: Open) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        """
        servers: [{name: web, type: http, listen: "127.0.0.1:0"}]
        pipes:
          - name: hooks
            queue: {dir: queue, capacity: 64m, segment_size: 1m}
            receivers: [{type: webhook, server: web, path: /here}]
        """
    )

    async def post() -> None:
        async with Agent(load(file)) as agent, aiohttp.ClientSession() as client:
            url = f"http://127.0.0.1:{agent.servers['web'].port}/here"
            async with client.post(url, data=b"{}", headers={"Content-Type": "application/json"}) as reply:
                assert reply.status == 204

    asyncio.run(post())
    message = open_queue(tmp_path / "queue", capacity="64m", segment_size="1m", max_event_size="5m").pop()
    event = Event.FromString(message.data)
    assert (event.data, event.content_type) == (b"{}", "application/json")


def test_the_how_tos_file_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(blocks(HOW_TO, "yaml")[0])
    assert [pipe.name for pipe in load(file).pipes] == ["logs"]
