"""Examples of docs/reference/pipeline/index.md."""

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
PAGE = (DOCS / "reference/pipeline/index.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The receiver of the page, installed as another distribution would install it."""
    site = tmp_path / "site"
    (site / "shop").mkdir(parents=True)
    (site / "shop" / "webhook.py").write_text(next(block for block in blocks("python") if "class Webhook" in block))
    metadata = site / "shop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(blocks("toml")[0].replace("project.entry-points.", "").replace('"', ""))
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


def test_the_quickstarts_file_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(blocks("yaml")[0])
    assert [pipe.name for pipe in load(file).pipes] == ["logs"]


@pytest.mark.parametrize(
    "page", sorted([DOCS / "reference/pipeline/index.md", *(DOCS / "pipeline").glob("*.md")]), ids=lambda it: it.name
)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    anchors = {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    for link in links:
        path, _, anchor = link.partition("#")
        if path.startswith("http"):
            continue
        target = page if not path else (page.parent / path)
        assert target.exists(), link
        if anchor and not path:
            assert anchor in anchors, link
