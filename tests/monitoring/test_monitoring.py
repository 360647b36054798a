"""The dashboard and the alert rules: names that exist, and queries that a real Prometheus answers with data."""

import json
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from conftest import eventually

from .live import DASHBOARD, MONITORING, PROGRAMS, RULES, Prometheus, at_work, filled_in, panels

ROOT = Path(__file__).parents[2]
needs_prometheus = pytest.mark.skipif(
    PROGRAMS is None, reason="`make test-monitoring` downloads Prometheus, 18 MB, and sets PROMETHEUS"
)


def rules() -> dict[str, str]:
    """The expressions of the alerts."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def known() -> set[str]:
    """The names of the reference, with those of a histogram's parts."""
    pages = (ROOT / "docs" / "reference" / name for name in ("metrics.md", "pipeline/telemetry.md"))
    names = {name for page in pages for name in re.findall(r"^\| `([a-z_]+)` \|", page.read_text(), re.MULTILINE)}
    return {f"{name}{part}" for name in names | {"mmapqueue_up"} for part in ("", "_bucket", "_sum", "_count")}


def expressions() -> list[str]:
    return [*rules().values(), *(target["expr"] for panel in panels() for target in panel["targets"])]


@pytest.mark.parametrize("expression", expressions())
def test_metrics_of_queries_exist(expression: str) -> None:
    used = re.findall(r"\b(?:mmapqueue|gatherer|sender|server)_\w+", expression)
    assert used
    assert set(used) <= known()


def test_the_dashboard_can_be_imported() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    variables = {each["name"]: each for each in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert dashboard["schemaVersion"] >= 39
    assert dashboard["panels"][0]["id"] == 1
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    queried = [*panels(), *(target for panel in panels() for target in panel["targets"])]
    queried += [variables["queue"], variables["consumer"]]
    assert {each["datasource"]["uid"] for each in queried} == {"${datasource}"}
    spaces = [panel["gridPos"] for panel in dashboard["panels"]]
    cells = [
        (x, y) for at in spaces for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells), "panels overlap"
    assert {x for x, _ in cells} == set(range(24))


def test_each_alert_has_tests() -> None:
    tests = yaml.safe_load((MONITORING / "rules.test.yml").read_text())["tests"]
    tried = [each for test in tests for each in test["alert_rule_test"]]
    fired = {each["alertname"] for each in tried if each.get("exp_alerts")}
    calm = {each["alertname"] for each in tried if not each.get("exp_alerts")}
    assert fired == calm == set(rules())


@needs_prometheus
@pytest.mark.parametrize("arguments", [("check", "rules", "rules.yml"), ("test", "rules", "rules.test.yml")])
def test_promtool_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    assert PROGRAMS is not None
    ran = subprocess.run(
        [str(Path(PROGRAMS).absolute() / "promtool"), *arguments],
        cwd=MONITORING,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with at_work(tmp_path_factory.mktemp("monitoring")) as prometheus:
        yield prometheus


@needs_prometheus
def test_each_panel_has_data(prometheus: Prometheus) -> None:
    missing = [filled_in(target["expr"]) for panel in panels() for target in panel["targets"]]
    assert len(missing) > 30

    def all_found() -> bool:
        missing[:] = [expression for expression in missing if not prometheus.query(expression)]
        return not missing

    assert eventually(all_found, 60), missing
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"][1:]:
        metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()  # type: ignore[union-attr]
        assert prometheus.api(f"label/{label}/values", **{"match[]": filled_in(metric)})


@needs_prometheus
def test_what_happens_shows_in_the_figures(prometheus: Prometheus) -> None:
    for metric in (
        *("pushed_records", "pushed_bytes", "popped_records", "popped_bytes", "acked_records", "acked_bytes"),
        *("redelivered_records", "redelivered_bytes", "dead_lettered_records", "dead_lettered_bytes"),
        *("dropped_records", "dropped_bytes", "room_waits", "room_wait_seconds"),
    ):
        expression = f'max(rate(mmapqueue_{metric}_total{{job="app"}}[30s])) > 0'
        assert eventually(partial(prometheus.query, expression), 60), expression
    assert prometheus.query('mmapqueue_fill_ratio{queue=~".*/orders"} > 0.8')
    assert prometheus.query("max(mmapqueue_fsync_seconds_count) > 0")


def has_both(prometheus: Prometheus, query: str) -> bool:
    return len(prometheus.query(query)) == 2


@needs_prometheus
def test_the_exporter_gives_what_the_process_gives(prometheus: Prometheus) -> None:
    for metric in ("capacity_bytes", "consumers", "recoveries"):
        name = f"mmapqueue_{metric}"
        same = f'{name}{{job="app"}} == on (queue) {name}{{job="exporter"}}'
        assert eventually(partial(has_both, prometheus, same), 60), name
    pushed = prometheus.query('rate(mmapqueue_pushed_records_total{job="exporter"}[30s]) > 0')
    assert {each["metric"]["queue"].rpartition("/")[2] for each in pushed} == {"events", "orders"}
    assert prometheus.query('mmapqueue_fsync_seconds_count{job="exporter"}') == []
    up = {each["metric"]["queue"].rpartition("/")[2]: each["value"][1] for each in prometheus.query("mmapqueue_up")}
    assert up == {"events": "1", "orders": "1", "missing": "0"}


@needs_prometheus
def test_alerts_are_evaluated_and_fire(prometheus: Prometheus) -> None:
    def firing() -> set[str]:
        return {each["labels"]["alertname"] for each in prometheus.api("alerts")["alerts"] if each["state"] == "firing"}

    assert eventually(lambda: firing() >= {"MmapQueueDeadLetters", "MmapQueueDrops"}, 60), firing()
    groups = prometheus.api("rules")["groups"]
    states = {rule["name"]: (rule["health"], rule["state"]) for group in groups for rule in group["rules"]}
    assert set(states) == set(rules())
    assert {health for health, _ in states.values()} == {"ok"}
    assert states["MmapQueueDown"][1] == "pending"
    assert states["MmapQueueDamage"][1] == states["SenderLag"][1] == "inactive"
