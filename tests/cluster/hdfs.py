"""HDFS: a name node in one host, a data node in each of the others, each a process that can be stopped."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from cluster.hosts import Host, Process

ROOT = Path(__file__).parents[2]
PORT = 8020
_HTTP = 9870

#: For JVMs that live for minutes and share a machine.
JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData")

_NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"

#: What a client needs of PySpark's jars.
_CLIENT = ("hadoop-client-*.jar", "commons-logging-*.jar", "zstd-jni-*.jar")

#: Two copies, so that a host may be lost; a data node that is gone is noticed within seconds.
SETTINGS = {
    "dfs.replication": "2",
    "dfs.permissions.enabled": "false",
    "dfs.heartbeat.interval": "1",
    "dfs.namenode.heartbeat.recheck-interval": "1000",
    "dfs.namenode.stale.datanode.interval": "3000",
    "dfs.namenode.avoid.read.stale.datanode": "true",
    "dfs.namenode.avoid.write.stale.datanode": "true",
    "dfs.namenode.safemode.extension": "0",
    "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    "dfs.namenode.fs-limits.min-block-size": "1024",
    "dfs.datanode.du.reserved": "0",
    "dfs.datanode.http.address": "0.0.0.0:9864",
    "dfs.client.socket-timeout": "5000",
    "dfs.datanode.socket.write.timeout": "5000",
    "ipc.client.connect.timeout": "3000",
    "ipc.client.connect.max.retries": "2",
    "ipc.client.connect.max.retries.on.timeouts": "2",
    "ipc.client.rpc-timeout.ms": "10000",
}


def jars() -> Path:
    """Directory of the jars that come with PySpark, Hadoop's client among them."""
    import pyspark

    return Path(pyspark.__file__).parent / "jars"


class Hdfs:
    """A file system over hosts."""

    def __init__(self, root: Path, hub: Host, hosts: Sequence[Host]) -> None:
        """Formats it, starts it and waits until all data nodes are part of it.

        Args:
            root: For its configuration and the logs; all hosts see it.
            hub: Host of the name node.
            hosts: Those of the data nodes.
        """
        self.uri = f"hdfs://{hub.name}:{PORT}"
        #: On the class path of clients.
        self.configuration = root / "hadoop"
        self.configuration.mkdir()
        (self.configuration / "core-site.xml").write_text(_xml({"fs.defaultFS": self.uri}))
        (self.configuration / "hdfs-site.xml").write_text(_xml(SETTINGS))
        (self.configuration / "log4j2.properties").write_text(
            "rootLogger.level=warn\nrootLogger.appenderRef.out.ref=out\nappender.out.type=Console\nappender.out.name=out\n"
            "appender.out.target=SYSTEM_ERR\nappender.out.layout.type=PatternLayout\n"
            "appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex{8}\n"
        )
        extra = (ROOT / "tests/cluster/build/hdfs.classpath").read_text().strip()
        self.classpath = f"{self.configuration}:{jars()}/*:{extra}"
        hadoop = [str(jar) for name in _CLIENT for jar in sorted(jars().glob(name))]
        #: The class path of a client, without Spark.
        self.client = os.pathsep.join([str(self.configuration), *hadoop])
        self._log = root / "logs"
        self._log.mkdir(exist_ok=True)
        names = self._java(_NAME_NODE, {"dfs.namenode.name.dir": str(hub.directory / "names")}, "-Xmx256m")
        subprocess.run(hub.inside(*names, "-format", "-nonInteractive"), check=True, capture_output=True)
        self.name_node = hub.start(names, self._log / "name-node.log")
        self.data_nodes: dict[str, Process] = {}
        for host in hosts:
            settings = {
                "dfs.datanode.data.dir": str(host.directory / "blocks"),
                "dfs.datanode.hostname": host.name,
            }
            data = self._java(_DATA_NODE, settings, "-Xmx192m")
            self.data_nodes[host.name] = host.start(data, self._log / f"data-node-{host.name}.log")
        self.await_data_nodes(len(hosts))

    def _java(self, main: str, settings: dict[str, str], *options: str) -> list[str]:
        # Hadoop reads settings from its own -D, after the class.
        return ["java", *JVM, *options, "-cp", self.classpath, main, *(f"-D{k}={v}" for k, v in settings.items())]

    def await_data_nodes(self, count: int, seconds: float = 180) -> None:
        """Waits until that many data nodes are alive.

        Raises:
            TimeoutError: They are not.
        """
        deadline = time.monotonic() + seconds
        while self._live() != count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._live()} data nodes, not {count}: {self.name_node.tail()}")
            time.sleep(0.2)

    def _live(self) -> int:
        """The number of data nodes that are alive; -1 without a name node, or while it waits for blocks."""
        try:
            state = self._get("/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo")["beans"][0]
            return -1 if state["Safemode"] else len(json.loads(state["LiveNodes"]))
        except (OSError, IndexError, KeyError):
            return -1

    def requests(self) -> dict[str, int]:
        """How often the name node has done each kind of request."""
        counts = self._get("/jmx?qry=Hadoop:service=NameNode,name=RpcDetailedActivityForPort8020")["beans"][0]
        return {
            name.removesuffix("NumOps"): count
            for name, count in counts.items()
            if name.endswith("NumOps") and not name.startswith("Overall")
        }

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://{self.name_node.host.name}:{_HTTP}{path}", timeout=60) as answer:
            return json.load(answer)

    def list(self, directory: str) -> list[Entry]:
        """Files and directories in a directory; empty if it does not exist."""
        try:
            found = self._patiently(f"/webhdfs/v1{quote(directory)}?op=LISTSTATUS", json.load)
        except FileNotFoundError:
            return []
        return [
            Entry(f"{directory}/{each['pathSuffix']}", each["type"] == "FILE", each["length"], each["modificationTime"])
            for each in found["FileStatuses"]["FileStatus"]
        ]

    def files(self, directory: str) -> Iterator[Entry]:
        """All files below a directory."""
        for entry in self.list(directory):
            if entry.is_file:
                yield entry
            else:
                yield from self.files(entry.path)

    def read(self, path: str) -> bytes:
        """Content of a file."""
        content: bytes = self._patiently(f"/webhdfs/v1{quote(path)}?op=OPEN", lambda answer: answer.read())
        return content

    def _patiently(self, path: str, read: Callable[[Any], Any], seconds: float = 180) -> Any:
        """An answer of the name node, or of a data node: repeated while either is away.

        Raises:
            FileNotFoundError: There is no such file.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(f"http://{self.name_node.host.name}:{_HTTP}{path}", timeout=10) as answer:
                    return read(answer)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError) and error.code == 404:
                    raise FileNotFoundError(path) from None
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.5)


class Entry(NamedTuple):
    """A file or a directory."""

    path: str
    is_file: bool
    length: int
    modified_millis: int


def _xml(settings: dict[str, str]) -> str:
    properties = "".join(f"<property><name>{k}</name><value>{v}</value></property>\n" for k, v in settings.items())
    return f"<configuration>\n{properties}</configuration>\n"
