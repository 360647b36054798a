"""A server of S3 for tests, and what clients need to use it."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
import uuid
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / "build" / "s3" / "bin" / "python"
_CLASS_PATH = ROOT / "tests" / "s3" / "build" / "s3a.classpath"
_XML = "{http://s3.amazonaws.com/doc/2006-03-01/}"

#: The smallest part that S3 allows: larger objects are uploaded in parts.
PART = 5 << 20

#: What a client needs of PySpark's jars.
_OF_SPARK = ("hadoop-client-*.jar", "commons-lang3-*.jar", "jcl-over-slf4j-*.jar", "zstd-jni-*.jar")


class Object(NamedTuple):
    """An object of a bucket."""

    key: str
    length: int


class Store:
    """The server, with a bucket. A context manager."""

    def __init__(self, root: Path) -> None:
        """Starts it.

        Args:
            root: A directory for the client's configuration and the server's log.
        """
        self._root = root
        with (root / "server.log").open("w") as log:
            self._process = subprocess.Popen(
                [str(_PYTHON), str(Path(__file__).with_name("s3_server.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        assert port, (root / "server.log").read_text()
        self._url = f"http://127.0.0.1:{port}"
        self.bucket = "archives"
        self.make_bucket(self.bucket)
        self.configuration = self.configure("hadoop")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def settings(self) -> dict[str, str]:
        """The settings of Hadoop for it."""
        return {
            "fs.s3a.endpoint": self._url,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "fs.s3a.access.key": "name",
            "fs.s3a.secret.key": "word",
            "fs.s3a.multipart.size": str(PART),
        }

    def configure(self, name: str, **more: str) -> Path:
        """A directory for the class path with Hadoop's settings; `more` has `_` in place of dots."""
        settings = self.settings() | {key.replace("_", "."): value for key, value in more.items()}
        directory = self._root / name
        directory.mkdir()
        found = "".join(f"<property><name>{k}</name><value>{v}</value></property>\n" for k, v in settings.items())
        (directory / "core-site.xml").write_text(f"<configuration>\n{found}</configuration>\n")
        return directory

    def class_path(self, configuration: Path | None = None) -> str:
        """The class path of a client without Spark."""
        import pyspark

        jars = Path(pyspark.__file__).parent / "jars"
        of_spark = [str(jar) for pattern in _OF_SPARK for jar in sorted(jars.glob(pattern))]
        return os.pathsep.join([str(configuration or self.configuration), *of_spark, *s3a_jars()])

    def archive(self, bucket: str | None = None) -> str:
        """The URI of an archive that does not exist."""
        return f"s3a://{bucket or self.bucket}/{uuid.uuid4().hex}/archive"

    def make_bucket(self, name: str) -> None:
        self._request("PUT", f"/{name}")

    def objects(self, uri: str) -> list[Object]:
        """The objects below a URI, with their keys relative to it."""
        bucket, _, prefix = uri.removeprefix("s3a://").partition("/")
        found: list[Object] = []
        token = ""
        while True:
            query = f"?list-type=2&prefix={quote(prefix, safe='')}/" + (
                f"&continuation-token={quote(token)}" if token else ""
            )
            page = ElementTree.fromstring(self._request("GET", f"/{bucket}{query}"))
            for each in page.iter(f"{_XML}Contents"):
                key, length = (each.findtext(f"{_XML}{name}") or "" for name in ("Key", "Size"))
                found.append(Object(key.removeprefix(f"{prefix}/"), int(length)))
            token = page.findtext(f"{_XML}NextContinuationToken") or ""
            if not token:
                return found

    def await_run(self, uri: str, seconds: float = 240) -> None:
        """Waits until an archive has a run that it does not have now.

        Raises:
            TimeoutError: It has none.
        """
        before = set(self.objects(uri))
        deadline = time.monotonic() + seconds
        while not any(each.key.endswith(".run") for each in set(self.objects(uri)) - before):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no new run in {uri} within {seconds} s")
            time.sleep(0.05)

    def uploads(self) -> int:
        """The number of uploads in parts that are neither complete nor aborted."""
        page = ElementTree.fromstring(self._request("GET", f"/{self.bucket}?uploads"))
        return len(list(page.iter(f"{_XML}Upload")))

    def copy(self, uri: str, directory: Path) -> Path:
        """Copies what is below a URI into a directory, which need not exist. Files that are there already are kept."""
        bucket, _, prefix = uri.removeprefix("s3a://").partition("/")
        for key, _ in self.objects(uri):
            target = directory / key
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    target.write_bytes(self._request("GET", f"/{bucket}/{prefix}/{key}"))
                except urllib.error.HTTPError as error:
                    if error.code != 404:  # deleted since it was listed
                        raise
        return directory

    def counts(self) -> dict[str, int]:
        """The requests of clients since the last call, by operation."""
        found: dict[str, int] = json.loads(self._request("DELETE", "/-/counts"))
        return found

    def leave(self) -> None:
        """From now on requests of clients fail."""
        self._request("PUT", "/-/away")

    def come_back(self) -> None:
        """Requests of clients succeed again."""
        self._request("DELETE", "/-/away")

    def _request(self, method: str, path: str) -> bytes:
        request = urllib.request.Request(self._url + path, method=method, headers={"Authorization": "AWS name:word"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            content: bytes = answer.read()
        return content


def s3a_jars() -> list[str]:
    """The jars of S3A that come beside those of PySpark."""
    return _CLASS_PATH.read_text().strip().split(os.pathsep)


def report(what: str, counts: dict[str, int], count: int = 1) -> Counter[str]:
    """Prints requests for each of `count`, and returns all of them."""
    found = Counter(counts)
    del found["bytes sent"]
    print(f"\n{what}:", {name: round(number / count, 2) for name, number in sorted(found.items())})
    return found
