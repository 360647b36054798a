"""Invalid arguments, and the texts of their errors."""

import asyncio
import inspect
import os
import pickle
import typing
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
import mmapqueue.compat
import mmapqueue.pipeline
import mmapqueue.pipeline.plugins
import mmapqueue.testing
from conftest import SMALL, Open, Script, data

# Numbers


@pytest.mark.parametrize("value", [False, True])
def test_a_bool_is_no_number(open_queue: Open, value: bool) -> None:
    queue = open_queue()
    queue.push_many([b"a", b"b", b"c"])
    queue.pop_many(2)
    calls: dict[str, Callable[[], Any]] = {
        "get": lambda: queue.read_at(value),
        "get_many": lambda: queue.read_many(value, 1),
        "get_many, max_records": lambda: queue.read_many(0, value),
        "ack": lambda: queue.ack(value),
        "ack_up_to": lambda: queue.ack_up_to(value),
        "ack_many": lambda: queue.ack_many([0, value]),
        "nack": lambda: queue.nack(value),
        "nack, delay": lambda: queue.nack(0, delay=value),
        "pop_many": lambda: queue.pop_many(value),
        "pop_many, max_bytes": lambda: queue.pop_many(max_bytes=value),
        "consume": lambda: queue.consume(max_records=value),
        "consume, workers": lambda: queue.process(print, workers=value, timeout=0),
        "consume, retry_delay": lambda: queue.process(print, retry_delay=value, timeout=0),
        "aconsume": lambda: queue.aconsume(max_records=value),
        "consumer": lambda: queue.consumer("x", start=value),
        "create_consumer": lambda: queue.create_consumer("x", start=value),
        "seek": lambda: queue.seek(value),
        "push_once": lambda: queue.push_once("p", value, [b"x"]),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match="not bool"):
            pytest.fail(f"{name}: {call()!r}")
    assert (queue.lag(), queue.unacked(), queue.end_offset(), queue.consumers()) == (3, 2, 3, ["default"])


@pytest.mark.parametrize("value", [0, 1, 5, 0.5, "1s", None])
def test_what_is_no_bool_is_no_flag(open_queue: Open, value: Any) -> None:
    queue = open_queue()
    queue.push_many([b"a", b"b", b"c"])
    producer = queue.producer()
    calls: dict[str, Callable[[], Any]] = {
        "pop": lambda: queue.pop(block=value),
        "pop, timeout": lambda: queue.pop(block=value, timeout=0),
        "pop of a consumer": lambda: queue.consumer("other").pop(block=value),
        "push": lambda: queue.push(b"x", block=value),
        "push, sync": lambda: queue.push(b"x", sync=value),
        "push, shipped": lambda: queue.push(b"x", shipped=value),
        "push_many": lambda: queue.push_many([b"x"], block=value),
        "push_many, atomic": lambda: queue.push_many([b"x"], block=True, timeout=None, atomic=value),
        "push_many, sync": lambda: queue.push_many([b"x"], sync=value),
        "push_many, shipped": lambda: queue.push_many([b"x"], shipped=value),
        "push_once, sync": lambda: queue.push_once("p", 1, [b"x"], sync=value),
        "apush, sync": lambda: asyncio.run(queue.apush(b"x", sync=value)),
        "apush, shipped": lambda: asyncio.run(queue.apush(b"x", shipped=value)),
        "apush_many, atomic": lambda: asyncio.run(queue.apush_many([b"x"], timeout=None, atomic=value)),
        "apush_many, sync": lambda: asyncio.run(queue.apush_many([b"x"], sync=value)),
        "apush_many, shipped": lambda: asyncio.run(queue.apush_many([b"x"], shipped=value)),
        "push of a producer": lambda: producer.push(b"x", block=value),
        "producer, sync": lambda: queue.producer(sync=value),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"\w+ = {value!r} is invalid; allowed: True or False"):
            pytest.fail(f"{name}: {call()!r}")
    producer.close()
    assert (queue.qsize(), queue.unacked(), queue.end_offset()) == (3, 0, 3)


def test_a_time_as_block_is_told_where_it_belongs(open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"a")
    for call in (lambda: queue.pop(block=5), lambda: queue.push(b"x", block="1s")):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a time is timeout="):
            call()
    # Also where a prefetched record is ready.
    queue.push_many([b"x"] * 100)
    assert len([queue.pop() for _ in range(10)]) == 10
    with pytest.raises(TypeError, match="block = 5 is invalid"):
        queue.pop(block=5)  # type: ignore[arg-type]


def test_a_time_or_a_flag_without_its_name_is_an_error(open_queue: Open) -> None:
    queue: Any = open_queue()
    queue.push_many([b"a", b"b", b"c"])
    message = queue.pop()
    consumer = queue.consumer("other")
    with queue.producer() as producer:
        calls: list[Callable[[], Any]] = [
            lambda: queue.pop(5),
            lambda: queue.pop("1s"),
            lambda: consumer.pop(False),
            lambda: queue.push(b"x", 5),
            lambda: queue.push_many([b"x"], True),
            lambda: queue.push_arrow([b"x"], True),
            lambda: queue.push_once("p", 1, [b"x"], 5),
            lambda: queue.apop(5),
            lambda: queue.apush(b"x", 5),
            lambda: queue.apush_many([b"x"], 5),
            lambda: queue.consume(5),
            lambda: queue.aconsume(5),
            lambda: queue.nack(message, 5),
            lambda: queue.anack(message, 5),
            lambda: message.nack(5),
            lambda: queue.await_shipped(0, 5),
            lambda: queue.aawait_shipped(0, 5),
            lambda: queue.consumer("new", "latest"),
            lambda: queue.create_consumer("new", "latest"),
            lambda: producer.push(b"x", 5),
            lambda: producer.flush(5),
            lambda: producer.close(5),
        ]
        for call in calls:
            with pytest.raises(TypeError, match="positional argument"):
                call()
    assert (queue.end_offset(), queue.unacked(), queue.qsize()) == (3, 1, 2)
    assert queue.consumers() == ["default", "other"]


#: Parameters with a default that may be given by position, although another one precedes them.
POSITIONAL = {
    ("Queue.read_arrow", "end"),
    ("Queue.iter_arrow", "end"),
    ("resize", "capacity"),
    ("HttpReply.__init__", "body"),
    # As those of concurrent.futures.Future.
    ("PushHandle.result", "timeout"),
    ("PushHandle.exception", "timeout"),
}


def optional_by_position(function: Any) -> Iterator[str]:
    """The parameters with a default, or of type bool, that take a position after the first one."""
    given = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    for number, parameter in enumerate(each for each in given if each.kind is each.POSITIONAL_OR_KEYWORD):
        has_default = parameter.default is not parameter.empty
        if parameter.annotation in (bool, "bool") or (has_default and (number > 0 or parameter.name == "timeout")):
            yield parameter.name


def test_only_main_arguments_have_positions() -> None:
    functions: list[Any] = [each for each in public_callables() if inspect.isfunction(each)]
    functions += [
        each
        for module in (mmapqueue.pipeline, mmapqueue.pipeline.plugins, mmapqueue.testing)
        for kind in [module, *filter(inspect.isclass, vars(module).values())]
        for each in vars(kind).values()
        if inspect.isfunction(each) and each.__module__.startswith("mmapqueue") and "._" not in each.__module__
    ]
    functions.append(mmapqueue.compat.Queue.nack)
    assert len(functions) > 100
    found = {(each.__qualname__, name) for each in functions for name in optional_by_position(each)}
    # Only the package makes errors.
    assert {each for each in found if "Error" not in each[0] and each[0] != "NotADirectory.__init__"} == POSITIONAL


@pytest.mark.parametrize("value", [None, "0", 0.0, b"0"])
def test_what_is_neither_a_message_nor_an_offset(open_queue: Open, value: Any) -> None:
    queue = open_queue()
    queue.push(b"a")
    queue.pop()
    name = type(value).__name__
    for what, call in (("ack", queue.ack), ("nack", queue.nack), ("ack_many", lambda it: queue.ack_many([it]))):
        with pytest.raises(TypeError, match=f"{what} takes .* not {name}"):
            call(value)
    with pytest.raises(TypeError, match=f"an offset is an int, not {name}"):
        queue.read_at(value)
    assert queue.lag() == 1


def test_one_message_is_not_several(open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"a")
    message = queue.pop()
    calls: tuple[tuple[str, Callable[[Any], None]], ...] = (("ack_many", queue.ack_many), ("release", queue.release))
    for what, call in calls:
        with pytest.raises(TypeError, match=f"{what} takes several messages or offsets"):
            call(message)
    assert queue.unacked() == 1


# Messages of others


def test_a_message_knows_its_consumer(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue()
    queue.push_many([b"a", b"b", b"c", b"d"])
    other = queue.consumer("other")
    path = os.path.realpath(tmp_path / "queue")
    found = [queue.pop(), queue.pop_many(1)[0], next(queue.consume()), queue.peek(), queue.read_at(0), other.pop()]
    assert [message.origin for message in found if message is not None] == [
        *[mmapqueue.Origin(path, "default")] * 4,
        mmapqueue.Origin(path, None),
        mmapqueue.Origin(path, "other"),
    ]
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_message_of_another_consumer_or_queue_is_refused(open_queue: Open, tmp_path: Path) -> None:
    queue, elsewhere = open_queue(), open_queue(tmp_path / "elsewhere")
    for each in (queue, elsewhere):
        each.push_many([b"a", b"b"])
    other = queue.consumer("other")
    own = queue.pop_many()
    of_other, of_elsewhere = other.pop_many(), elsewhere.pop_many()
    for wrong, whose in ((of_other, "other"), (of_elsewhere, str(tmp_path / "elsewhere"))):
        calls: list[Callable[[], Any]] = [
            partial(queue.ack, wrong[1]),
            partial(queue.ack_up_to, wrong[1]),
            partial(queue.ack_many, [own[0], wrong[1]]),
            partial(queue.nack, wrong[0]),
        ]
        for call in calls:
            with pytest.raises(mmapqueue.Foreign, match=whose) as caught:
                call()
            assert isinstance(caught.value, ValueError)
            assert isinstance(caught.value, mmapqueue.MmapQueueError)
    with pytest.raises(mmapqueue.Foreign, match="elsewhere"):
        queue.ack(elsewhere.read_at(0))
    assert (queue.lag(), other.lag(), elsewhere.lag()) == (2, 2, 2)
    # Its own, an offset, and what was read by offset are what they were.
    queue.ack(own[0])
    queue.ack(queue.read_at(1))
    other.ack(0)
    assert (queue.lag(), other.lag()) == (0, 1)


def test_a_message_goes_with_every_handle_of_its_queue(open_queue: Open, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "queue")
    queue = open_queue()
    queue.push_many([b"a", b"b", b"c"])
    again = open_queue(tmp_path / "link")
    again.ack(queue.pop())
    queue.ack(again.pop())
    message = queue.pop()
    queue.close()
    again.close()
    queue = open_queue()
    assert queue.pop() == message._replace(attempts=2)
    queue.ack(message)
    assert queue.lag() == 0


# Paths


def test_no_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (mmapqueue.verify, lambda path: mmapqueue.Queue(path), lambda p: mmapqueue.repair("a", to=p)):
        with pytest.raises(mmapqueue.ConfigError, match="the path of a directory"):
            call("")
    with pytest.raises(mmapqueue.ConfigError, match="dead_letter_dir"):
        mmapqueue.Queue("queue", max_attempts=3, dead_letter_dir="")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [None, 5, True, b"queue"])
def test_what_is_no_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    monkeypatch.chdir(tmp_path)
    calls: dict[str, Callable[[], object]] = {
        "path": lambda: mmapqueue.Queue(wrong),
        "target": lambda: mmapqueue.copy("queue", wrong),
    }
    if wrong is not None:
        calls["dead_letter_dir"] = lambda: mmapqueue.Queue("queue", max_attempts=3, dead_letter_dir=wrong)
        calls["archive_uri"] = lambda: mmapqueue.Queue("queue", archive_uri=wrong)
    for argument, call in calls.items():
        with pytest.raises(TypeError, match=rf"^{argument} .*, not {type(wrong).__name__}$"):
            call()
    with pytest.raises(mmapqueue.ConfigError, match="allowed: the path of a directory"):
        mmapqueue.verify("a\0b")
    assert not any(tmp_path.iterdir())


def test_a_tilde_is_the_home(script: Script) -> None:
    home = script.directory / "home"
    home.mkdir()
    script.run(
        """
        import os
        import mmapqueue
        with mmapqueue.Queue("~/queue", max_attempts=1, dead_letter_dir="~/dead") as queue:
            assert queue.path == os.environ["HOME"] + "/queue", queue.path
            assert queue.config["dead_letter_dir"] == os.environ["HOME"] + "/dead", queue.config
            queue.push(b"x")
        assert mmapqueue.verify("~/queue").records == 1
        mmapqueue.repair("~/queue", to="~/copy")
        """,
        HOME=str(home),
    )
    assert {entry.name for entry in home.iterdir()} >= {"queue", "copy"}


def test_a_path_that_java_can_not_have(tmp_path: Path, open_queue: Open) -> None:
    for call in (lambda path: open_queue(path), mmapqueue.verify):
        with pytest.raises(mmapqueue.ConfigError, match="UTF-8"):
            call(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    queue = open_queue()
    with pytest.raises(ValueError, match=r"udcff.*UTF-8"):
        queue.consumer("\udcff")
    queue.push(b"works")
    assert queue.pop().data == b"works"


# Names


@pytest.mark.parametrize("wrong", [None, 5, True, b"abc", ["x"]])
def test_what_is_no_name_is_refused(small_queue: mmapqueue.Queue, tmp_path: Path, wrong: Any) -> None:
    """The JVM would take None as the name "None", and bytes as their text in base 64."""
    calls: dict[Callable[[], object], str] = {
        lambda: small_queue.consumer(wrong): "consumer",
        lambda: small_queue.create_consumer(wrong): "consumer",
        lambda: small_queue.delete_consumer(wrong): "consumer",
        lambda: mmapqueue.Queue(tmp_path / "other", consumer=wrong): "consumer",
        lambda: mmapqueue.compat.Queue(path=tmp_path / "other", consumer=wrong): "consumer",
        lambda: small_queue.push_once(wrong, 1, [b"x"]): "producer",
        lambda: small_queue.last_sequence(wrong): "producer",
        lambda: small_queue.forget_producer(wrong): "producer",
    }
    for call, argument in calls.items():
        with pytest.raises(TypeError, match=rf"^{argument} is a name, a str, not {type(wrong).__name__}$"):
            call()
    assert (small_queue.consumers(), small_queue.producers(), small_queue.end_offset()) == ([], [], 0)
    assert not (tmp_path / "other").exists()


def test_messages_name_what_users_know(small_queue: mmapqueue.Queue) -> None:
    calls: list[Any] = [small_queue.ack, small_queue.push_once, small_queue.seek, small_queue.consumer("x").ack]
    for call in calls:
        with pytest.raises(TypeError, match=r"^(Queue|Reading)\.\w+\(\) missing"):
            call()


@pytest.mark.parametrize("kind", [mmapqueue.Queue, mmapqueue.Consumer])
def test_the_source_of_a_method_is_in_its_class_or_in_the_one_base(kind: type) -> None:
    """Help, `inspect.getsource` and tracebacks lead to the code."""
    assert len(kind.__mro__) <= 4
    for name in dir(kind):
        found = getattr(kind, name)
        if not name.startswith("_") and inspect.isfunction(found):
            assert found.__qualname__ in (f"{kind.__name__}.{name}", f"Reading.{name}")
            assert inspect.getsource(found).lstrip().startswith((f"def {name}(", f"async def {name}("))
            assert found.__code__.co_name == name


def public_callables() -> Iterator[Any]:
    for name in mmapqueue.__all__:
        found = getattr(mmapqueue, name)
        if isinstance(found, type):
            yield found
            yield from filter(inspect.isfunction, vars(found).values())
        elif inspect.isfunction(found):
            yield found
    for kind in (mmapqueue.Queue, mmapqueue.Consumer):
        yield from (getattr(kind, name) for name in dir(kind) if not name.startswith("_"))


def test_type_hints_can_be_had() -> None:
    hints = typing.get_type_hints(mmapqueue.Queue.__init__)
    assert {"spark", "path", "consumer", "lock_timeout", "configuration", "return"} <= set(hints)
    for each in public_callables():
        if not isinstance(each, property):
            typing.get_type_hints(each)


# What went in


def pushed_before(error: Any) -> int:
    """How many records were pushed: an attribute that `push_many` adds to the error of any class."""
    pushed: int = error.pushed
    return pushed


def test_after_any_error_it_says_what_went_in(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    with pytest.raises(TypeError) as wrong:
        queue.push_many([b"a", b"b", "c", b"d"])  # type: ignore[list-item]
    assert (pushed_before(wrong.value), queue.end_offset()) == (0, 0)

    def failing(count: int) -> Iterator[bytes]:
        for number in range(count):
            yield b"%d" % number
        raise LookupError("no more")

    calls: list[tuple[type[Exception], Callable[[], Any]]] = [
        (LookupError, lambda: queue.push_many(failing(1000))),
        (TypeError, lambda: queue.push_many([*[b"x"] * 1000, None])),  # type: ignore[list-item]
        (mmapqueue.TooLarge, lambda: queue.push_many([*[b"x"] * 1000, b"y" * 9000, b"x"])),
        (mmapqueue.Full, lambda: queue.push_many([b"x" * 500] * 1000, block=False)),
    ]
    for error, call in calls:
        queue.seek("latest")
        before = queue.end_offset()
        with pytest.raises(error) as caught:
            call()
        assert pushed_before(caught.value) == queue.end_offset() - before > 0, error
    queue.seek("latest")
    before = queue.end_offset()
    with pytest.raises(mmapqueue.Closed) as closed:
        queue.push_many(closing(queue))
    queue = open_queue(**SMALL)
    assert closed.value.pushed == queue.end_offset() - before > 0
    with pytest.raises(TypeError) as wrong:
        queue.push_many([b"a", None], atomic=True)  # type: ignore[list-item]
    assert pushed_before(wrong.value) == 0


def closing(queue: mmapqueue.Queue) -> Iterator[bytes]:
    for _ in range(1000):
        yield b"x"
    queue.close()
    yield b"y"


def test_an_interrupt_says_so_too(script: Script) -> None:
    out = script.run(
        """
        import os, signal, sys
        import mmapqueue
        from mmapqueue._jvm.calls import Call
        # A signal comes in while the JVM pushes: it is delivered when the call is over.
        calls = []
        at = 3
        real = Call.within
        def within(call, *arguments):
            answer = real(call, *arguments)
            if call._member.name in ("pushMany", "pushLoaded"):
                calls.append(answer)
                if len(calls) == at:
                    os.kill(os.getpid(), signal.SIGINT)
            return answer
        Call.within = within
        queue = mmapqueue.Queue(sys.argv[1], capacity="64m", max_event_size="1m")
        for size, atomic in ((10, False), (100_000, False), (10, True)):
            queue.seek("latest")
            before = queue.end_offset()
            calls.clear()
            at = 1 if atomic else 3
            try:
                queue.push_many([b"x" * size] * (400 if size > 10 else 20_000), atomic=atomic)
            except KeyboardInterrupt as error:
                print(error.pushed == queue.end_offset() - before, error.pushed > 0)
            else:
                print("not interrupted", len(calls))
        queue.close()
        """,
        script.directory / "queue",
    )
    assert out.split() == ["True"] * 6, out


def test_data_is_what_was_pushed_before_the_error(open_queue: Open) -> None:
    queue = open_queue()
    items = [b"%d" % number for number in range(5000)]
    with pytest.raises(TypeError) as caught:
        queue.push_many([*items, 1])  # type: ignore[list-item]
    pushed = pushed_before(caught.value)
    assert data(queue) == items[:pushed]
    # As the text of push_many says: those that were not pushed can be pushed then.
    queue.push_many(items[pushed:])
    assert data(queue) == items[pushed:]
