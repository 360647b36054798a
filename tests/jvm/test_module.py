"""The jar as a module: a modular program compiles against it, runs with it, and is linked with it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import mmapqueue
from mmapqueue._jvm import jars

MODULE = """\
module orders {
    requires java.management;
    requires org.mmapqueue;
}
"""

PROGRAM = """\
package orders;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import javax.management.ObjectName;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;

public final class Orders {
    public static void main(String[] args) throws Exception {
        System.out.println(MmapQueue.class.getModule().getDescriptor().toNameAndVersion());
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(Path.of(args[0])).segmentSize("1m").build())) {
            queue.push(new byte[] {1, 2, 3});
            Message message = queue.consumer().pop();
            queue.consumer().ack(message);
            System.out.println("popped " + message.data().length + ", lag " + queue.consumer().lag());
            var beans = ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName("org.mmapqueue:*"), null);
            System.out.println("beans " + beans.size());
        }
    }
}
"""

PRINTED = [f"org.mmapqueue@{mmapqueue.__version__}", "popped 3, lag 0", "beans 1"]


class Jdk:
    """Runs tools of a JDK in a directory."""

    def __init__(self, home: Path, directory: Path) -> None:
        self.home = home
        self._directory = directory

    def __call__(self, tool: str, *arguments: str, home: Path | None = None) -> str:
        """Returns what the tool prints."""
        ran = subprocess.run(
            [str((home or self.home) / "bin" / tool), *arguments],
            cwd=self._directory, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture
def jdk(tmp_path: Path) -> Jdk:
    javac = Path(os.environ["JAVA_HOME"], "bin", "javac") if "JAVA_HOME" in os.environ else shutil.which("javac")
    if javac is None or not Path(javac).is_file():
        pytest.skip("no javac: these tests need a JDK")
    return Jdk(Path(javac).resolve().parents[1], tmp_path)


@pytest.fixture
def module_path(jdk: Jdk, tmp_path: Path) -> str:
    """The compiled program beside the jar and slf4j's API, which is all that it needs."""
    (slf4j,) = [jar for jar in jars.standalone_class_path() if jar.name.startswith("slf4j-api-")]
    for name, text in {"module-info.java": MODULE, "orders/Orders.java": PROGRAM}.items():
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_text(text)
    path = os.pathsep.join(map(str, (mmapqueue.jar_path(), slf4j)))
    options = ("-Xlint:all", "-Werror", "--release", "17", "-d", "classes", "--module-path", path)
    jdk("javac", *options, "source/module-info.java", "source/orders/Orders.java")
    return os.pathsep.join((path, str(tmp_path / "classes")))


def test_a_modular_program_runs(jdk: Jdk, module_path: str) -> None:
    printed = jdk("java", "--module-path", module_path, "--module", "orders/orders.Orders", "queue")
    assert printed.splitlines() == PRINTED


def test_an_image_is_linked(jdk: Jdk, module_path: str, tmp_path: Path) -> None:
    if not (jdk.home / "jmods").is_dir():
        pytest.skip(f"the JDK in {jdk.home} has no jmods, which jlink needs")
    jdk("jlink", "--module-path", module_path, "--add-modules", "orders", "--output", "image")
    printed = jdk("java", "--module", "orders/orders.Orders", "queue", home=tmp_path / "image")
    assert printed.splitlines() == PRINTED


def test_only_public_packages_are_exported(jdk: Jdk) -> None:
    described = jdk("jar", "--describe-module", "--file", str(mmapqueue.jar_path())).splitlines()
    assert {line.removeprefix("exports ") for line in described if line.startswith("exports ")} == {
        "org.mmapqueue", "org.mmapqueue.bigqueue", "org.mmapqueue.errors", "org.mmapqueue.metrics",
        "org.mmapqueue.tool.copy", "org.mmapqueue.tool.report", "org.mmapqueue.typed",
    }  # fmt: skip
