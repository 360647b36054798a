"""A server of SkyWalking: its OAP with a database of its own."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from services import Service

#: What analyzes data of agents, and what receives it.
_MODULES = [
    *("event-analyzer", "receiver-sharing-server", "receiver-register", "receiver-trace", "receiver-jvm"),
    *("receiver-clr", "receiver-profile", "receiver-meter", "receiver-log", "receiver-event", "receiver-ebpf"),
    *("configuration-discovery", "alarm", "ai-pipeline"),
]

_APPLICATION = """\
cluster: {selector: standalone, standalone: {}}
core:
  selector: default
  default:
    restHost: 127.0.0.1
    restPort: "${REST_PORT}"
    restContextPath: /
    gRPCHost: 127.0.0.1
    gRPCPort: "${GRPC_PORT}"
    # Seconds between two writes into the database.
    persistentPeriod: 1
storage:
  selector: h2
  h2:
    properties: {jdbcUrl: "${DATABASE}", dataSource.user: sa}
    metadataQueryMaxSize: 5000
    maxSizeOfBatchSql: 100
    asyncBatchPersistentPoolSize: 1
agent-analyzer:
  selector: default
  default:
    traceSamplingPolicySettingsFile: sampling.yml
    slowDBAccessThreshold: "default:200"
    segmentStatusAnalysisStrategy: FROM_SPAN_STATUS
log-analyzer: {selector: default, default: {lalFiles: default, malPath: lal}}
query: {selector: graphql, graphql: {}}
telemetry: {selector: none, none: {}}
configuration: {selector: none, none: {}}
""" + "".join(f"{name}: {{selector: default, default: {{}}}}\n" for name in _MODULES)

#: It does not start without these. Its own distribution has longer ones.
_FILES = {
    "application.yml": _APPLICATION,
    "log4j2.xml": '<Configuration><Appenders><Console name="Console"/></Appenders>'
    '<Loggers><Root level="WARN"><AppenderRef ref="Console"/></Root></Loggers></Configuration>',
    "sampling.yml": "default: {rate: 10000, duration: -1}\n",
    "service-apdex-threshold.yml": "default: 500\n",
    "component-libraries.yml": "Python: {id: 7000, languages: Python}\nComponent-Server-Mappings: {}\n",
    "endpoint-name-grouping.yml": "grouping: []\n",
    "gateways.yml": "gateways: []\n",
    "alarm-settings.yml": "{}\n",
    "lal/default.yaml": "rules:\n- {name: default, layer: GENERAL, dsl: 'filter { sink { } }'}\n",
    "oal/core.oal": "service_resp_time = from(Service.latency).longAvg();\n",
    "oal/java-agent.oal": "",
    "oal/dotnet-agent.oal": "",
    "oal/disable.oal": "",
}


class Oap:
    """An OAP, to be started. Its database outlives it."""

    def __init__(self, directory: Path, port: int, rest: int) -> None:
        """Writes its files.

        Args:
            directory: Of its files, logs and database.
            port: Of its gRPC server.
            rest: Of its HTTP server.
        """
        self._jars = Path(os.environ["MMAPQUEUE_OAP"]).read_text().strip()
        config = directory / "config"
        (config / "openapi-definitions").mkdir(parents=True)
        for name, text in _FILES.items():
            (config / name).parent.mkdir(exist_ok=True)
            (config / name).write_text(text)
        self._database = f"jdbc:h2:{directory / 'database'};DATABASE_TO_UPPER=FALSE;AUTO_SERVER=TRUE"
        variables = {"GRPC_PORT": str(port), "REST_PORT": str(rest), "DATABASE": self._database}
        main = "org.apache.skywalking.oap.server.starter.OAPServerStartUp"
        command = ["java", "-Xmx512m", "-cp", f"{config}:{self._jars}", main]
        self._url = f"http://127.0.0.1:{rest}/graphql"
        self.service = Service("oap", command, directory, variables)

    def stored(self, table: str, column: str) -> list[str]:
        """The values of a column in the tables of all days.

        Raises:
            subprocess.CalledProcessError: The database does not answer.
        """
        found: list[str] = []
        for name in self._query("select TABLE_NAME from INFORMATION_SCHEMA.TABLES where TABLE_SCHEMA = 'PUBLIC'"):
            if name.rpartition("_")[0] == table:
                found += self._query(f'select {column} from "{name}"')
        return found

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        """Answers a query in GraphQL."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        data: dict[str, Any] = found["data"]
        return data

    def _query(self, statement: str) -> Iterator[str]:
        shell = ["java", "-cp", self._jars, "org.h2.tools.Shell", "-url", self._database, "-user", "sa"]
        done = subprocess.run(
            [*shell, "-password", "", "-sql", statement], capture_output=True, text=True, check=True, timeout=60
        )
        # Without the name of the column, and the number of rows at the end.
        yield from (line.rstrip() for line in done.stdout.splitlines()[1:-1])
