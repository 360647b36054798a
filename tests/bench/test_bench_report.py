"""The benchmark report follows from the raw results alone."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

import bench_runs
from bench_report import __main__ as report
from bench_report import charts, document, plots_jvm, publish, raw
from bench_report.show import show

PROJECT = Path(__file__).parents[2]
PLOTS = ("peers", "sizes", "latency", "cost", "memory", "recovery", "python", "spark", "real-time")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a report of all parts of a run."""
    root = tmp_path_factory.mktemp("published")
    _documents(root)
    publish.publish(bench_runs.write(root / "run"), report.kept(root))
    run = raw.load(report.kept(root))
    report.draw(root, run)
    report.write(root, run)
    return root


def _documents(root: Path) -> None:
    (root / "docs" / "explanation").mkdir(parents=True)
    shutil.copy(PROJECT / "README.md", root)
    text = (PROJECT / "docs/explanation/benchmarks.md").read_text(encoding="utf-8")
    head, found, rest = text.partition(f"## {report.MISSED}\n")
    # Sections about missed targets belong to the project's own run.
    kept = head + found + re.sub(r"\A.*?(?=^## )", "\n", rest, flags=re.M | re.S)
    (root / "docs/explanation/benchmarks.md").write_text(kept)


def _plain(path: Path) -> str:
    """A document without the spaces that do not break."""
    return path.read_text(encoding="utf-8").replace("\u202f", " ")


def _rows(text: str, *parts: str) -> list[list[str]]:
    """The rows of tables that have all these cells or parts of cells."""
    rows = [line for line in text.splitlines() if line.startswith("| ") and all(part in line for part in parts)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def _checked(text: str, words_: str) -> list[str]:
    """Limit, figure, spread and verdict of the one target with these words."""
    (row,) = _rows(text, words_)
    return row[2:]


# What is kept


def test_kept_results_are_small_and_without_paths(published: Path) -> None:
    kept = report.kept(published)
    texts = {path.relative_to(kept).as_posix(): path.read_text() for path in kept.rglob("*.json")}
    names = {f"jmh/{name}.json" for name in ("once", "round-1", "round-2", "round-3")}
    assert set(texts) == names | {
        f"{name}.json" for name in ("machine", "latency", "pipeline", "python", "real-time", "scale", "spark")
    }
    assert not [name for name, text in texts.items() if re.search(r"/home|/usr|scoreError|jvmArgs", text)]
    before = sum(path.stat().st_size for path in (published / "run").rglob("*.json"))
    assert sum(map(len, texts.values())) < before / 2


def test_kept_results_are_those_of_one_run(tmp_path: Path) -> None:
    kept = tmp_path / "raw"
    publish.publish(bench_runs.write(tmp_path / "long", ["jmh", "latency"]), kept)
    (kept / "archive.json").write_text("{}")  # Of `make archive`, which is not part of a run.
    shorter = bench_runs.write(tmp_path / "short", ["jmh"])
    (shorter / "results/round-3.json").unlink()
    done = publish.publish(shorter, kept)
    assert [line for line in done if "removed" in line] == [
        "jmh/round-3.json: removed, not part of this run",
        "latency.json: removed, not part of this run",
    ]
    assert (kept / "archive.json").exists()
    run = raw.load(kept)
    assert not run.latencies
    row = run.row("PushBenchmark.push", "queue", 1024)
    assert row
    assert set(row.per_second.rounds) == {"round-1", "round-2"}


@pytest.mark.parametrize(
    ("file", "members", "member"),
    [
        ("latency.json", None, "service_micros"),
        ("pipeline.json", "results", "memory"),
        ("python.json", "results", "batch"),
        ("real-time.json", "results", "curve"),
        ("scale.json", "recovery", "tail_bytes"),
        ("spark.json", "results", "rows"),
    ],
)
def test_what_lacks_a_member_is_named(
    published: Path, tmp_path: Path, file: str, members: str | None, member: str
) -> None:
    kept = tmp_path / "raw"
    shutil.copytree(report.kept(published), kept)
    content = json.loads((kept / file).read_text())
    del (content[members] if members else content)[1][member]
    (kept / file).write_text(json.dumps(content))
    with pytest.raises(SystemExit, match=rf"{file}: {members or 'result'} 1: no member '{member}'"):
        raw.load(kept)


def test_a_pipeline_run_may_have_the_article_alone(published: Path, tmp_path: Path) -> None:
    kept = tmp_path / "raw"
    shutil.copytree(report.kept(published), kept)
    content = json.loads((kept / "pipeline.json").read_text())
    content["results"] = []
    for article in ([{"subject": "mmapqueue gather"}], []):
        content["kills"], content["article"] = [], article
        (kept / "pipeline.json").write_text(json.dumps(content))
        if article:
            assert raw.load(kept).pipeline["article"] == article
        else:
            with pytest.raises(SystemExit, match="no results"):
                raw.load(kept)


def test_a_row_is_found_by_all_its_parameters(published: Path) -> None:
    run = raw.load(report.kept(published))
    plain, batched = (run.row("PushBenchmark.push", "queue", 1024, **extra) for extra in ({}, {"batch": 100}))
    assert plain
    assert batched
    assert round(plain.megabytes.median) == 7_000
    assert round(batched.megabytes.median) == 6_000
    assert round(plain.allocated.median, 3) == 8
    assert run.row("PushBenchmark.push", "queue", 1024, batch=10) is None
    # Another ring is another row.
    assert run.row("PushBenchmark.push", "queue", 8192) is None
    assert run.row("PushBenchmark.push", "queue", 8192, **bench_runs.SMALL)


# Tables


def test_shares_are_of_the_roofline_of_the_same_round(published: Path) -> None:
    text = _plain(published / "docs/explanation/benchmarks.md")
    (row,) = [row for row in _rows(text, "**mmapqueue**") if row[1] == "7 000"]
    assert row[1:4] == ["7 000", "3 000–10 000", "70 %"]
    assert row[7:] == ["5 000", "4 000–6 000", "62 %"]
    ring = _rows(text, "roofline", "10 000", "4 000–20 000", "100 %")
    assert len(ring) == 1
    (rocks,) = _rows(text, "RocksDB", "200")
    assert rocks[1:5] == ["200", "180–220", "2 %", "–"]


def test_every_part_of_the_run_has_its_table(published: Path) -> None:
    text = _plain(published / "docs/explanation/benchmarks.md")
    assert report.ABSENT not in text
    assert _rows(text, "| 128 KiB × 4000, all mapped", "8 KiB") == [
        ["128 KiB × 4000, all mapped", "8 KiB", "2 000", "50 %", "–", "–", "–", "–"]
    ]
    assert _rows(text, "recycled ring", "3 500") == [
        ["pop, recycled ring", "1 KiB", "3 500", "3 150–3 850", "2 000", "1 800–2 200", "1.75 ×"]
    ]
    assert _rows(text, "Chronicle Queue: push, new ring")[0][2:4] == ["≥ 1.5 ×", "1.75 ×"]
    assert _rows(text, "pop, from the disk") == [["pop, from the disk", "1 KiB", "3 000", "2 700–3 300", "75 %"]]
    assert _rows(text, "after a clean close", "1 GiB")[0] == ["after a clean close", "1 GiB", "4.00", "4.00–5.00"]
    assert _rows(text, "write(2) + fdatasync(2), 1 thread") == [
        ["write(2) + fdatasync(2), 1 thread", "125", "125–125", "8 000"]
    ]
    (latency,) = [row for row in _rows(text, "mmapqueue, 64 MiB") if row[2:3] == ["0.110"]]
    assert latency == ["mmapqueue, 64 MiB", "100 000", "0.110", "–", "0.330", "2.20", "44.0", "990"]
    assert _rows(text, "| push |", "queue.Queue") == [["push", "queue.Queue", "945 k", "968 (922–1 014)"]]
    assert _rows(text, "| push many | mmapqueue |") == [["push many", "mmapqueue", "3.05 M", "3 123 (3 072–3 174)"]]
    assert "Redis list: not measured, there is no redis-server." in text
    assert _rows(text, "| spark.range |")[0][6] == "100 %"
    assert [row[1:6:4] for row in _rows(text, "| queue, value |")] == [
        ["4 GiB", "12.5 M"],
        ["1 GiB", "10.0 M"],
        ["512 MiB", "–"],
        ["128 MiB", "–"],
    ]
    assert _rows(text, "| one record | queue |") == [["one record", "queue", "30.0", "28.0–40.0"]]
    assert "- tuned read: `fetch.max.bytes=1`" in text
    assert _rows(text, "1 000/s") == [
        ["1 000/s", "mmapqueue", "1.00", "2.00", "8.00", "10.0", "20.0"],
        ["1 000/s", "Kafka", "4.00", "8.00", "32.0", "40.0", "80.0"],
    ]
    assert "- broker: `node.id=1`" in text
    assert _rows(text, "open after a kill, ms", "20 GiB") == [
        ["open after a kill, ms", "20 GiB", "16 MiB", "40.5", "40.0–41.0"]
    ]
    assert _rows(text, "mmapqueue gather", "80.0 MiB") == []
    assert _rows(text, "mmapqueue gather", "88.0 k") == [
        ["mmapqueue gather", "88.0 k", "80 000–96 000", "880", "9.00", "100 MiB", "50 MiB", "1 101"]
    ]
    assert _rows(text, "OpenTelemetry collector", "300 000")[0][1:] == ["100", "3", "300 000", "7", "0", "200"]
    assert _rows(text, "read by Spark", "99.5 k")[0][-1] == "0"
    assert "bare aiohttp: not measured, there is no aiohttp." in text
    assert "Rounds: throughput 3, latencies 2, Python 2, large queues 2, Spark 2, pipeline 2." in text
    assert "| throughput | `make bench` | abc123 | 2026-01-02T03:04Z | 0.500 |" in text


def test_the_readme_has_the_plot_and_the_ratios(published: Path) -> None:
    text = _plain(published / "README.md")
    assert "(docs/benchmarks/peers.svg)" in text
    told = " ".join(text.partition("peers.svg)")[2].partition("<!-- end")[0].split())
    assert "pushes 1 KiB records at 7 000 MB/s, 70 % of that roofline (3.50 × Chronicle Queue)" in told
    assert "0.110 µs at the median" in told
    assert "`push_many` moves" in told
    assert "Spark reads 12.5 M rows of 100 B a second, 6.00 × what it reads from Kafka" in told


def test_a_benchmark_prints_its_tables(tmp_path: Path) -> None:
    run = bench_runs.write(tmp_path / "run")
    for part, row in (
        ("latency", ["mmapqueue, 64 MiB", "100 000", "0.110"]),
        ("python", ["push", "queue.Queue", "945 k"]),
        ("scale", ["open after a kill, ms", "20 GiB", "16 MiB", "40.5"]),
        ("real-time", ["20 000/s", "Kafka", "16.0", "32.0", "128", "160", "320"]),
        ("spark", ["one record", "queue", "30.0"]),
        ("pipeline", ["mmapqueue gather", "88.0 k"]),
        ("jmh", ["PipeBenchmark.pipe", "queue", "1 KiB", "consumers 4, producers 4", "4 000"]),
    ):
        lines = [re.split(" {2,}", line) for line in show(part, run).replace("\u202f", " ").splitlines()]
        assert [line for line in lines if line[: len(row)] == row], part


# Targets


def test_targets_are_computed(published: Path) -> None:
    text = _plain(published / "docs/explanation/benchmarks.md")
    assert _checked(text, "1 KiB pushed by one thread, as a share of the roofline") == [
        "≥ 60 %",
        "70 %",
        "50 % – 75 %",
        "met",
    ]
    assert _checked(text, "1 KiB pushed by one thread, as a multiple of bigqueue") == ["≥ 5 ×", "–", "", "not measured"]
    assert (
        _checked(text, "1 KiB popped by one thread, checksums verified, as a multiple of Chronicle")[3] == "**missed**"
    )
    assert _checked(text, "1 KiB through 4 producers and 4 consumers")[1] == "80 %"
    assert _checked(text, "segments of 64 MiB: p99.9 ")[1:] == ["2.20 µs", "2.00 µs – 2.40 µs", "**missed**"]
    assert _checked(text, "segments of 128 KiB: p99.9 ")[3] == "met"
    assert _checked(text, "1 KiB popped 100 with each call")[1::2] == ["1.30 ×", "met"]
    assert _checked(text, "1 KiB popped as Message")[1::2] == ["70 %", "met"]
    assert _checked(text, "1 KiB at a random offset")[1::2] == ["1.00 µs", "**missed**"]
    assert _checked(text, "1 KiB, push, new ring")[1::2] == ["50 %", "**missed**"]
    assert _checked(text, "1 KiB, 1 + 1 threads, new ring")[3] == "not measured"
    assert _checked(text, "segments of 128 KiB, as a multiple of write(2) + fdatasync(2)")[1::2] == [
        "0.75 ×",
        "**missed**",
    ]
    assert _checked(text, "Bytes mapped")[1::2] == ["100 %", "met"]
    assert _checked(text, "One push of 1 KiB")[1::2] == ["1.30 ×", "met"]
    assert _checked(text, "Iteration over a consumer")[1::2] == ["3.05 million/s", "met"]
    assert _checked(text, "Batch read of 100 B, as a multiple of Kafka's source at its defaults")[1] == "6.00 ×"
    assert _checked(text, "Batch write of 100 B, as a multiple of Kafka's sink")[1::2] == ["4.00 ×", "**missed**"]
    assert _checked(text, "Read to noop, batch, two cores, 100 B")[1] == "12.5 million/s"
    assert _checked(text, "micro-batch without records")[1] == "1.10 ×"
    assert _checked(text, "queue to queue at 1 000 records/s")[1::2] == ["8.00 ms", "met"]
    assert _checked(text, "queue to queue at 20 000 records/s")[1::2] == ["32.0 ms", "**missed**"]
    assert _checked(text, "accepted at 100 logs a request, as a multiple of the collector")[1::2] == ["1.60 ×", "met"]
    assert _checked(text, "accepted at 1000 logs a request, as a multiple of the coll")[1::2] == [
        "1.40 ×",
        "**missed**",
    ]
    assert _checked(text, "accepted at 100 logs a request, as a share of bare")[1::2] == ["88 %", "met"]
    assert _checked(text, "Processor time of a log, 100 a request")[1::2] == ["9.00 µs", "**missed**"]
    assert _checked(text, "Resident memory at 100 logs")[1::2] == ["0.23 ×", "met"]
    assert _checked(text, "Accepted, and not read")[1::2] == ["0", "met"]


def test_a_verdict_follows_the_raw_results(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    file = report.kept(tmp_path) / "scale.json"
    scale = json.loads(file.read_text())
    text = _plain(tmp_path / "docs/explanation/benchmarks.md")
    assert _checked(text, "the dearest")[3] == _checked(text, "Bytes mapped")[3] == "met"
    scale["pairs"][2]["pair_ns"] = [500.0, 520.0]
    scale["samples"][3]["mapped_bytes"] += 1 << 20
    file.write_text(json.dumps(scale))
    report.write(tmp_path, raw.load(report.kept(tmp_path)))
    text = _plain(tmp_path / "docs/explanation/benchmarks.md")
    assert _checked(text, "the dearest")[1::2] == ["1.12 ×", "**missed**"]
    assert _checked(text, "Bytes mapped")[3] == "**missed**"


def test_a_missed_target_links_to_its_section(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "docs/explanation/benchmarks.md"
    written = "### Pop of 1 KiB\n\nBy hand.\n\n### Push of 1 KiB\n\nOld.\n\n### Neither\n\n"
    path.write_text(path.read_text().replace(f"## {report.MISSED}\n", f"## {report.MISSED}\n\n{written}"))
    to_do = report.write(tmp_path, raw.load(report.kept(tmp_path)))
    text = path.read_text()
    assert written in text
    assert "| [Pop of 1 KiB](#pop-of-1-kib) |" in text
    assert '"Push of 1 KiB" is not missed in this run, and has a section' in to_do
    assert 'the section "### Neither" belongs to no target' in to_do
    assert '"Durable push" is missed, and no section "### Durable push" says why' in to_do
    assert not [line for line in to_do if "Pop of 1 KiB" in line]


# Documents and plots


def test_plots_are_small_pictures_for_light_and_dark_pages(published: Path) -> None:
    for name in PLOTS:
        path = published / f"docs/benchmarks/{name}.svg"
        assert path.stat().st_size < 80_000
        root = ElementTree.parse(path).getroot()
        assert root.attrib["width"] == "633.6pt"
        style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
        assert style.startswith("@media (prefers-color-scheme: dark){")
        replaced = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", style))
        used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", path.read_text().replace(style, "")))
        assert {charts.PAPER.lower(), charts.INK.lower(), charts.BLUE.lower()} <= used & replaced
        # Text, and not its outlines.
        assert len(list(root.iter("{http://www.w3.org/2000/svg}text"))) > 4


def test_the_report_is_reproducible(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    run = raw.load(report.kept(tmp_path))
    report.write(tmp_path, run)
    assert plots_jvm.peers(run, tmp_path / "docs/benchmarks/peers.svg")
    for name in ("README.md", "docs/explanation/benchmarks.md", "docs/benchmarks/peers.svg"):
        assert (tmp_path / name).read_bytes() == (published / name).read_bytes(), name


def test_a_part_that_was_not_run_says_so_and_has_no_plot(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    publish.publish(bench_runs.write(tmp_path / "less", ["latency"]), report.kept(tmp_path))
    run = raw.load(report.kept(tmp_path))
    report.draw(tmp_path, run)
    report.write(tmp_path, run)
    text = _plain(tmp_path / "docs/explanation/benchmarks.md")
    # All blocks but those of the machine, the targets and the latencies.
    assert text.count(report.ABSENT) == text.count("<!-- generated: ") - 3
    assert [path.name for path in (tmp_path / "docs/benchmarks").glob("*.svg")] == ["latency.svg"]
    assert "peers.svg" not in _plain(tmp_path / "README.md")
    assert _checked(text, "One push of 1 KiB")[3] == "not measured"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- generated: a -->\nold\n", "has no <!-- end: a -->"),
        ("<!-- generated: a -->\n<!-- generated: b -->\n<!-- end: a -->\n", "nothing is generated under the name b"),
        ("no marker", "0 markers <!-- generated: a -->, expected one"),
        ("<!-- generated: a -->\n<!-- end: a -->\n" * 2, "2 markers <!-- generated: a -->, expected one"),
    ],
)
def test_wrong_markers_raise(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "document.md"
    path.write_text(text)
    with pytest.raises(SystemExit, match=re.escape(message)):
        document.fill(path, {"a": "new"})
    assert path.read_text() == text


def test_text_outside_the_markers_stays(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    path.write_text("before\n<!-- generated: a -->\nold\n<!-- end: a -->\nafter\n")
    document.fill(path, {"a": "new"})
    assert path.read_text() == "before\n<!-- generated: a -->\n\nnew\n\n<!-- end: a -->\nafter\n"


def test_the_documents_of_the_project_are_those_of_its_raw_results(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "docs/benchmarks", tmp_path / "docs/benchmarks")
    (tmp_path / "docs/explanation").mkdir()
    for name in ("README.md", "docs/explanation/benchmarks.md"):
        shutil.copy(PROJECT / name, tmp_path / name)
    report.write(tmp_path, raw.load(report.kept(tmp_path)))
    for name in ("README.md", "docs/explanation/benchmarks.md"):
        assert (tmp_path / name).read_text() == (PROJECT / name).read_text(), f"{name}: run make bench-report"
