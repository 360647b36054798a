"""The JVM that a process starts for itself: how it is found and started, and when it ends."""

import contextlib
import gc
import logging
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL, Open, Script, children, data, eventually, has_ended, is_running
from mmapqueue._jvm import standalone

START = """
    import os, sys, time
    import mmapqueue
    from mmapqueue._jvm import standalone
    queue = mmapqueue.Queue(sys.argv[1], segment_size="4k", capacity="64k", max_event_size="4k")
    jvm = standalone._running.process.pid
"""


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_it_ends_with_its_process_however_that_ends(script: Script, open_queue: Open) -> None:
    process = script.start(
        START
        + """
    queue.push_many([b"%d" % i for i in range(100)])
    print(jvm, flush=True)
    time.sleep(600)
    """,
        script.directory / "queue",
    )
    jvm = int(first_line(process))
    assert is_running(jvm)
    process.kill()
    process.wait()
    assert eventually(lambda: not is_running(jvm))
    assert data(open_queue()) == [b"%d" % i for i in range(100)]


#: Code of the JVM that sleeps for ten minutes, as a Runnable of Java.
SLEEP = """
    java, gateway = standalone.jvm().java, standalone._running.gateway
    handles = java.lang.invoke
    kinds = gateway.new_array(java.lang.Class, 0)
    kind = handles.MethodType.methodType(java.lang.Void.TYPE, java.lang.Long.TYPE, kinds)
    sleep = handles.MethodHandles.publicLookup().findStatic(java.lang.Class.forName("java.lang.Thread"), "sleep", kind)
    bound = gateway.new_array(java.lang.Object, 1)
    bound[0] = java.lang.Long.valueOf(600_000)
    sleep = handles.MethodHandles.insertArguments(sleep, 0, bound)
    runnable = java.lang.Class.forName("java.lang.Runnable")
    sleep = handles.MethodHandleProxies.asInterfaceInstance(runnable, sleep)
"""


def test_it_ends_with_its_process_whatever_its_calls_and_shutdown_hooks_do(script: Script, open_queue: Open) -> None:
    process = script.start(
        START
        + SLEEP
        + """
    import threading
    queue.push_many([b"%d" % i for i in range(100)])
    queue.pop()
    java.lang.Runtime.getRuntime().addShutdownHook(java.lang.Thread(sleep))
    threading.Thread(target=sleep.run, daemon=True).start()
    print(jvm, flush=True)
    time.sleep(600)
    """,
        script.directory / "queue",
    )
    jvm = int(first_line(process))
    process.kill()
    process.wait()
    # It holds the locks of the queue and of the consumer for less than lock_timeout.
    queue = open_queue(lock_timeout=60)
    assert data(queue) == [b"%d" % i for i in range(100)]
    assert eventually(lambda: not is_running(jvm))


def test_it_ends_in_order_where_that_takes_a_moment(script: Script, open_queue: Open) -> None:
    process = script.start(
        START
        + """
    queue.push(b"x")
    print(jvm, flush=True)
    time.sleep(600)
    """,
        script.directory / "queue",
    )
    jvm = int(first_line(process))
    process.kill()
    process.wait()
    assert eventually(lambda: not is_running(jvm))
    # Closed in order, and not recovered.
    assert open_queue().stats().epoch == 1


#: What service managers and terminals send to all processes of a program.
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def ignored(pid: int) -> set[int]:
    """The signals that a process ignores."""
    found = re.search(r"^SigIgn:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return {number for number in range(1, 65) if int(found[1], 16) >> (number - 1) & 1}


def test_it_leaves_signals_to_its_process(script: Script) -> None:
    process = script.start(
        START
        + """
    print(jvm, flush=True)
    sys.stdin.readline()
    print(queue.push(b"x"))
    queue.close()
    """,
        script.directory / "queue",
    )
    jvm = int(first_line(process))
    assert eventually(lambda: ignored(jvm).issuperset(SIGNALS))
    for number in SIGNALS:
        os.kill(jvm, number)
    out, err = process.communicate("go\n", timeout=60)
    assert (process.returncode, out, err) == (0, "0\n", "")
    assert not is_running(jvm)


def test_a_child_does_not_keep_it_alive(script: Script) -> None:
    process = script.start(
        START
        + """
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    print(jvm, child, flush=True)
    time.sleep(600)
    """,
        script.directory / "queue",
    )
    jvm, child = map(int, first_line(process).split())
    process.kill()
    process.wait()
    try:
        assert eventually(lambda: not is_running(jvm))
        assert is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("locale", ["C", "POSIX", "xx_XX.nonsense"])
def test_paths_are_utf_8_whatever_the_locale_is(script: Script, locale: str) -> None:
    script.run(
        """
        import os, sys
        import mmapqueue
        with mmapqueue.Queue(sys.argv[1] + "/gr\u00f6\u00dfe \u65e5\u672c") as queue:
            queue.consumer("one").close()
            queue.push(b"x")
        """,
        script.directory / "queues",
        LC_ALL=locale,
        PYTHONUTF8="1",
    )
    assert [path.name for path in (script.directory / "queues").iterdir()] == ["größe 日本"]


def test_a_path_that_python_cannot_encode_is_a_typed_error(script: Script) -> None:
    code = """
        import mmapqueue, tempfile
        with tempfile.TemporaryDirectory() as directory:
            path = directory + "/q\\xfc"
            for call in (
                lambda: mmapqueue.Queue(path),
                lambda: mmapqueue.verify(path),
                lambda: mmapqueue.repair(directory, to=path),
            ):
                try:
                    call()
                except mmapqueue.ConfigError as error:
                    print(ascii(str(error)))
    """
    lines = script.run(code, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").splitlines()
    assert len(lines) == 3, lines
    for line in lines:
        assert "in ascii, in which this process encodes the names of files" in line
        assert "LC_ALL=C.UTF-8" in line


def test_a_collected_queue_is_closed(tmp_path: Path) -> None:
    queue = mmapqueue.Queue(tmp_path, **SMALL)
    queue.push(b"one")
    consumer = queue.consumer("other")
    del queue
    gc.collect()
    # A consumer of it is in use still.
    assert consumer.pop().data == b"one"
    consumers = [consumer]
    del consumer
    with pytest.warns(ResourceWarning, match="was not closed"):
        consumers.clear()

    assert eventually(lambda: can_be_configured_anew(tmp_path))


def can_be_configured_anew(directory: Path) -> bool:
    """Whether no handle has the queue open."""
    try:
        mmapqueue.Queue(directory, max_in_mem_segments=8).close()
    except mmapqueue.ConfigError:
        return False
    return True


def test_where_the_warning_is_an_error_a_collected_queue_is_closed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: raised.append(str(each.exc_value)))
    queue = mmapqueue.Queue(tmp_path, **SMALL)
    producer = queue.producer(linger=3600)
    handle = producer.push(b"one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del producer
        gc.collect()
        assert handle.result(timeout=60) == 0
        del handle, queue
        gc.collect()
        assert eventually(lambda: can_be_configured_anew(tmp_path))
    assert ["BatchingProducer" in text for text in raised] == [True, False]


def test_there_is_one_for_all_queues(open_queue: Open, tmp_path: Path) -> None:
    open_queue(tmp_path / "a")
    before = standalone._running
    open_queue(tmp_path / "b")
    assert standalone._running is before is not None


def test_its_heap_is_small(script: Script) -> None:
    # In a process of its own: in this one, a test of archives may have asked for a larger heap.
    heap = script.run(
        START + "\n    print(standalone.jvm().java.lang.Runtime.getRuntime().maxMemory())", script.directory / "queue"
    )
    assert int(heap) <= 64 << 20


def test_it_may_be_smaller(script: Script) -> None:
    told = script.run("""
        from pathlib import Path
        from mmapqueue._jvm import standalone

        standalone.start_small()
        standalone.jvm()
        print(Path(f"/proc/{standalone._running.process.pid}/cmdline").read_text().split(chr(0)))
    """)
    assert "'-XX:TieredStopAtLevel=1', '-Xmn6m'" in told


def test_nobody_comes_in_without_the_token(open_queue: Open) -> None:
    open_queue()
    assert standalone._running is not None
    with socket.create_connection(("127.0.0.1", standalone._running.gateway.gateway_parameters.port)) as stranger:
        stranger.settimeout(60)
        stranger.sendall(b"r\nu\njava\nrj\ne\n")
        answer = b""
        # It is shown the door.
        with contextlib.suppress(ConnectionResetError):
            while more := stranger.recv(1000):
                answer += more
    assert not answer or answer.startswith(b"!x")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the kernel's list of sockets is Linux's")
def test_nobody_reaches_it_from_another_machine(open_queue: Open) -> None:
    open_queue()
    assert standalone._running is not None
    port = standalone._running.gateway.gateway_parameters.port
    listening = []
    for table in Path("/proc/net/tcp"), Path("/proc/net/tcp6"):
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            address, _, number = line.split()[1].partition(":")
            if int(number, 16) == port and line.split()[3] == "0A":
                listening.append(address)
    # 127.0.0.1, as it is or within an address of version 6; words in the machine's order.
    assert listening
    assert {address[-8:] for address in listening} <= {"0100007F", "7F000001"}, listening


@pytest.mark.parametrize(("mode", "files", "directories"), [(None, 0o600, 0o700), ("640", 0o640, 0o750)])
def test_who_may_read_what_a_queue_makes(
    open_queue: Open, tmp_path: Path, mode: str | None, files: int, directories: int
) -> None:
    queue = open_queue(tmp_path / "private", file_mode=mode)
    queue.push(b"secret")
    queue.consumer("one").pop()
    queue.close()
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "private", *tmp_path.glob("private/**/*")]}
    assert {mode for path, mode in found.items() if path.is_file()} == {files}
    assert {mode for path, mode in found.items() if path.is_dir()} == {directories}


def test_its_log_goes_to_pythons(
    open_queue: Open, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    open_queue()
    with caplog.at_level(logging.INFO, "mmapqueue.jvm"):
        log = standalone.jvm().org.slf4j.LoggerFactory.getLogger("a.part")
        log.info("said so")
        log.warn("look out")
        standalone.jvm().java.lang.System.out.println("not of the log")
        assert eventually(lambda: len(caplog.records) >= 2)
    assert [(r.name, r.levelno, r.getMessage()) for r in caplog.records] == [
        ("mmapqueue.jvm", logging.INFO, "a.part: said so"),
        ("mmapqueue.jvm", logging.WARNING, "a.part: look out"),
    ]
    assert capfd.readouterr() == ("", "")


def test_when_it_is_killed_calls_say_so_and_the_next_queue_has_a_new_one(script: Script) -> None:
    out = script.run(
        START
        + """
    import logging, signal
    from concurrent.futures import ThreadPoolExecutor
    logging.basicConfig(level=logging.WARNING)
    queue.push_many([b"one", b"two"])
    queue.pop_many(2)
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(queue.pop) for _ in range(3)]
        os.kill(jvm, signal.SIGKILL)
        standalone._running.process.wait()
    assert all(isinstance(each.exception(), mmapqueue.MmapQueueError) for each in waiting)
    for call in (lambda: queue.push(b"x"), queue.pop, queue.qsize, queue.flush, lambda: queue.push_many([b"x"]),
                 queue.pop_many, queue.close):
        try:
            call()
        except mmapqueue.MmapQueueError as error:
            print(error)
    queue.close()
    queue = mmapqueue.Queue(sys.argv[1])
    assert [m.data for m in queue] == [b"one", b"two"]
    queue.close()
    """,
        script.directory / "queue",
    )
    assert len(out.splitlines()) == 7
    assert all(line.startswith("the JVM that has the queue does not answer") for line in out.splitlines())


def test_a_queue_that_is_opened_while_a_killed_one_still_ends_has_a_new_one(script: Script) -> None:
    # A killed process closes its sockets, and can be waited for a moment later.
    out = script.run(
        START
        + """
    import signal
    queue.push(b"one")
    process = standalone._running.process
    process.poll = lambda: None
    os.kill(jvm, signal.SIGKILL)
    while open(f"/proc/{jvm}/stat").read().rpartition(")")[2].split()[0] != "Z":
        pass
    try:
        queue.close()
    except mmapqueue.MmapQueueError:
        pass
    queue = mmapqueue.Queue(sys.argv[1])
    print(queue.pop().data)
    queue.close()
    """,
        script.directory / "queue",
    )
    assert out == "b'one'\n"


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_is_told_and_harms_nobody(script: Script, end: str) -> None:
    out = script.run(
        START
        + f"""
    import gc, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, from Python 3.12 on
    queue.push_many([b"one", b"two"])
    first = queue.pop()
    consumer = queue.consumer("other")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        for call in (lambda: queue.push(b"x"), queue.pop, lambda: queue.push_many([b"x"]), queue.qsize, queue.flush,
                     lambda: queue.ack(first), lambda: next(queue.consume()), queue.peek, consumer.pop,
                     queue.__enter__):
            try:
                call()
            except mmapqueue.MmapQueueError as error:
                assert "forked" in str(error), error
            else:
                os._exit(1)
        queue.close()
        del queue, consumer
        gc.collect()
        with mmapqueue.Queue(sys.argv[1] + "-of-the-child") as own:
            assert own.push(b"of the child") == 0
            assert own.pop().data == b"of the child"
        {end}
    assert os.waitpid(child, 0)[1] == 0
    assert queue.pop().data == b"two"
    assert queue.push_many([b"x"] * 50) == 50
    assert len(queue.pop_many()) == 50
    assert consumer.lag() == 52
    queue.close()
    print("well")
    """,
        script.directory / "queue",
    )
    assert out == "well\n"


def test_no_java(script: Script) -> None:
    code = """
    import sys
    import mmapqueue
    try:
        mmapqueue.Queue(sys.argv[1])
    except mmapqueue.MmapQueueError as error:
        print(error)
    """
    path = script.directory / "queue"
    assert "PATH has no java, and JAVA_HOME is not set" in script.run(code, path, JAVA_HOME="", PATH="/nowhere")
    assert "JAVA_HOME is /nowhere, and its bin has no java" in script.run(code, path, JAVA_HOME="/nowhere")
    home = script.directory / "home"
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho No space for a heap >&2\nexit 1\n")
    java.chmod(0o755)
    assert "did not start a JVM: No space for a heap" in script.run(code, path, JAVA_HOME=str(home))
    java.write_text("no program")
    assert "does not start" in script.run(code, path, JAVA_HOME=str(home))
    assert not path.exists()


def test_an_idle_queue_costs_no_time(open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"x")
    assert standalone._running is not None
    stat = Path(f"/proc/{standalone._running.process.pid}/stat")

    def used() -> int:
        return sum(map(int, stat.read_text().rsplit(")", 1)[1].split()[11:13]))

    # Idle time is what is measured. Time of the CPU is compared, so a busy machine does not matter.
    time.sleep(1)
    before = used()
    time.sleep(2)
    assert (used() - before) / os.sysconf("SC_CLK_TCK") < 1


def fake_java(directory: Path, script: str) -> str:
    """A directory for JAVA_HOME with another program as java; returns its path."""
    java = directory / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return str(java.parents[1])


@pytest.mark.parametrize(
    "options",
    [
        "-Xlog:os+cpu -XX:+PrintCommandLineFlags",
        "-XX:+PrintFlagsFinal",
        "-Xlog:gc*=info:stdout -Xlog:startuptime",
    ],
)
def test_other_lines_on_its_stdout_are_logged(script: Script, options: str) -> None:
    out = script.run(
        """
        import logging, sys
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(name)s %(message)s")
        logging.getLogger("py4j").setLevel(logging.WARNING)
        import mmapqueue
        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push(b"x")
            print("data", queue.pop().data)
        """,
        script.directory / "queue",
        JAVA_TOOL_OPTIONS=options,
    )
    lines = out.splitlines()
    assert "data b'x'" in lines
    assert len([line for line in lines if line.startswith("mmapqueue.jvm ")]) > 2, out
    assert "mmapqueue.port" not in out


def test_a_line_without_an_end_before_the_port(script: Script, tmp_path: Path) -> None:
    real = shutil.which("java")
    home = fake_java(tmp_path, f'printf "listening on port 5005"; printf "12345\n"; printf "half"; exec {real} "$@"')
    out = script.run(START + '\n    queue.push(b"x"); print(queue.pop().data)', tmp_path / "queue", JAVA_HOME=home)
    assert out == "b'x'\n"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1", "SIGWINCH"])
@pytest.mark.parametrize("java", ["exec 3<&0; cat <&3 & wait", "echo 1; exec cat"])
def test_a_signal_ends_the_start(script: Script, tmp_path: Path, name: str, java: str) -> None:
    process = script.start(
        f"""
        import signal, sys
        import mmapqueue
        def handle(number, frame):
            raise RuntimeError(f"got {{number}}")
        if {name!r} != "SIGINT":
            signal.signal(signal.{name}, handle)
        for _ in range(2):
            try:
                print("starts", flush=True)
                mmapqueue.Queue(sys.argv[1])
            except (KeyboardInterrupt, RuntimeError) as error:
                print(type(error).__name__, error, flush=True)
        """,
        tmp_path / "queue",
        JAVA_HOME=fake_java(tmp_path, java),
    )
    number = getattr(signal, name)
    for _ in range(2):
        assert first_line(process) == "starts"
        assert eventually(lambda: children(process.pid))
        (java_process,) = children(process.pid)
        # What the program has started, such as the JVM of a script.
        assert " & " not in java or eventually(partial(children, java_process))
        below = children(java_process)
        process.send_signal(number)
        ended = "KeyboardInterrupt" if number == signal.SIGINT else f"RuntimeError got {int(number)}"
        assert first_line(process) == ended
        assert not is_running(java_process)
        assert all(eventually(partial(has_ended, pid)) for pid in below)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_signal_handler_opens_a_queue_during_the_start(script: Script, tmp_path: Path) -> None:
    go = tmp_path / "go"
    home = fake_java(tmp_path, f'until [ -e {go} ]; do sleep 0.05; done; exec {shutil.which("java")} "$@"')
    process = script.start(
        """
        import signal, sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        def handle(number, frame):
            print("handles", flush=True)
            with mmapqueue.Queue(sys.argv[1] + "-of-the-handler") as queue:
                print(queue.push(b"x"), standalone._running.process.pid, flush=True)
        signal.signal(signal.SIGUSR1, handle)
        print("starts", flush=True)
        with mmapqueue.Queue(sys.argv[1]) as queue:
            print(queue.push(b"x"), standalone._running.process.pid, flush=True)
        """,
        tmp_path / "queue",
        JAVA_HOME=home,
    )
    assert first_line(process) == "starts"
    assert eventually(lambda: children(process.pid))
    (jvm,) = children(process.pid)
    process.send_signal(signal.SIGUSR1)
    assert first_line(process) == "handles"
    go.touch()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, f"0 {jvm}\n0 {jvm}\n", "")


def test_a_start_ahead_serves_the_first_queue(script: Script, tmp_path: Path) -> None:
    # A queue that cannot be read: the warm-up is silent, and creates nothing.
    missing = tmp_path / "missing"
    out = script.run(
        """
        import sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        standalone.start_ahead(sys.argv[2])
        ahead = standalone._ahead
        queue = mmapqueue.Queue(sys.argv[1], capacity="4m", segment_size="64k", max_event_size="4k")
        print(standalone._running.process is ahead.process, queue.push(b"x"))
        standalone.start_ahead(None)  # It runs.
        print(standalone._ahead)
        queue.close()
        """,
        tmp_path / "queue",
        missing,
    )
    assert out.splitlines() == ["True 0", "None"]
    assert not missing.exists()


def test_a_start_ahead_with_other_settings_is_replaced(script: Script, tmp_path: Path) -> None:
    out = script.run(
        """
        import sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        standalone.start_ahead(None)
        ahead = standalone._ahead.process
        with mmapqueue.Queue(sys.argv[1], capacity="256m", segment_size="32m", max_event_size="32m") as queue:
            print(queue.push(b"x"), ahead.returncode)
        """,
        tmp_path / "queue",
    )
    assert out.split() == ["0", str(-signal.SIGKILL)]


def test_a_start_ahead_that_is_not_used_ends_with_the_program(script: Script, tmp_path: Path) -> None:
    out = script.run(
        """
        import os
        from mmapqueue._jvm import standalone
        standalone.start_ahead(None)
        print(standalone._ahead.process.pid)
        """,
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert not is_running(int(out))
    assert not list((tmp_path / "cache" / "mmapqueue").iterdir())


def test_a_start_ahead_that_fails_is_reported_by_the_first_queue(script: Script, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho nothing works\n")
    java.chmod(0o700)
    script.run(
        """
        import sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        standalone.start_ahead(None)
        try:
            mmapqueue.Queue(sys.argv[1])
        except mmapqueue.MmapQueueError as error:
            assert "nothing works" in str(error), error
        else:
            raise AssertionError
        """,
        tmp_path / "queue",
        JAVA_HOME=str(tmp_path),
    )
