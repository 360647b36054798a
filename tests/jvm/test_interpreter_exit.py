"""The end of a program: open queues are closed, and daemon threads end without tracebacks."""

import pytest
from test_standalone import START

from conftest import Open, Script, is_running


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del queue", "raise SystemExit", "other = queue.consumer('x')"])
def test_a_queue_that_nobody_closed_is_closed_at_the_end(script: Script, open_queue: Open, end: str) -> None:
    jvm = script.run(
        START
        + f"""
    import threading
    waiting = threading.Event()
    when_waiting(waiting.set, threads=2)
    def wait(call):
        try:
            call()
        except mmapqueue.Closed:
            pass
    queue.push_many([b"one", b"two", b"three"])
    for name in ("a", "b"):
        late = queue.consumer(name, start="latest")
        threading.Thread(target=wait, args=(late.pop,), daemon=True).start()
    asked = threading.Event()
    def insist():
        while True:
            wait(lambda: late.qsize())
            asked.set()
            time.sleep(0.001)
    threading.Thread(target=insist, daemon=True).start()
    assert waiting.wait(60) and asked.wait(60)
    print(jvm)
    {end}
    """,
        script.directory / "queue",
    )
    assert not is_running(int(jvm))
    # A queue that was not closed is recovered by the next open, which counts that.
    queue = open_queue()
    assert queue.stats().epoch == 1
    assert queue.stats().end_offset == 3


@pytest.mark.parametrize(
    "work",
    [
        "queue.pop()",
        "for message in queue.consume(): pass",
        "queue.process(print, workers=2)",
        "while True: queue.push(b'x' * 1000)",
        "while True: queue.stats(); working()",
        "while True: mmapqueue.Queue(sys.argv[1] + '-more').close(); working()",
    ],
)
def test_daemon_threads_end_without_a_traceback(script: Script, work: str) -> None:
    # Whatever is written to the standard error fails this.
    script.run(
        START
        + f"""
    import threading
    threads = set()
    all_work = threading.Event()
    def working():
        threads.add(threading.get_ident())
        if len(threads) == 3:
            all_work.set()
    when_waiting(all_work.set, threads=3)
    def work():
        {work}
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    assert all_work.wait(60)
    """,
        script.directory / "queue",
    )


def test_a_look_up_fails_with_an_error_of_this_package(script: Script) -> None:
    out = script.run(
        START
        + """
    from mmapqueue._jvm import bridge, names
    from mmapqueue._jvm.calls import Call
    job = bridge.class_of(None, names.JOB)
    client = standalone._running.gateway._gateway_client
    client.is_connected = False
    for look_up in (lambda: Call(job, "verify", "s"), lambda: bridge._found(standalone.jvm(), names.JOB)):
        try:
            look_up()
        except mmapqueue.MmapQueueError as error:
            print(error)
    client.is_connected = True
    """,
        script.directory / "queue",
    )
    assert out == "the JVM that has the queue does not answer: Gateway is not connected.\n" * 2


def test_other_errors_of_daemon_threads_are_told_as_ever(script: Script) -> None:
    # Registered first, so called last: the queue is closed by then, and the thread ends.
    process = script.start(
        """
    import atexit
    atexit.register(lambda: thread.join(60))
        """
        + START
        + """
    import threading
    waiting = threading.Event()
    when_waiting(waiting.set)
    def work():
        try:
            queue.pop()
        except mmapqueue.Closed:
            raise LookupError("of the thread itself") from None
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert waiting.wait(60)
    """,
        script.directory / "queue",
    )
    _, err = process.communicate(timeout=120)
    assert "LookupError: of the thread itself" in err
