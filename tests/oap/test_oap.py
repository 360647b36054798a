"""A real OAP behind Satellite's own configuration: it gets what was answered, and its answers reach the agents."""

import base64
import sys
import time
import uuid
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import grpc
from skywalking.protocol.common.Command_pb2 import Commands
from skywalking.protocol.event.Event_pb2 import Event, Source
from skywalking.protocol.language_agent.Tracing_pb2 import SegmentObject
from skywalking.protocol.profile.Profile_pb2 import ProfileTaskCommandQuery

sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import journal
from pipeline.halves import wait
from pipeline.satellite_file import configuration
from services import Service, free_ports
from skywalking_client import NUMBER, segment_number

from .server import Oap

PIPES = ("logpipe", "managementpipe", "tracingpipe", "eventpipe", "profilepipe")
#: Logs that come before the kills, and after them.
SEVERAL = 300
EVENTS = "/skywalking.v3.EventService/collect"
#: A question of agents, which is passed on to the OAP.
TASKS = "/skywalking.v3.ProfileTask/getProfileTaskCommands"
#: What a user of the OAP does.
NEW_TASK = (
    """mutation($task: ProfileTaskCreationRequest) { createProfileTask(creationRequest: $task) { id errorReason } }"""
)


class Run:
    """Both halves with Satellite's configuration, an OAP and an application with the agent."""

    def __init__(self, directory: Path) -> None:
        address, port, rest, metrics = free_ports(4)
        self.oap = Oap(directory / "oap", port, rest)
        self.oap_address, self.address = f"127.0.0.1:{port}", f"127.0.0.1:{address}"
        self.journal = directory / "agent.jsonl"
        file = directory / "satellite_config.yaml"
        file.write_text(configuration(*PIPES))
        variables = {
            "ADDRESS": self.address,
            "OAP": self.oap_address,
            "PROMETHEUS_ADDRESS": f"127.0.0.1:{metrics}",
        }
        self.halves = [
            Service(each, [sys.executable, "-m", "mmapqueue", each, str(file)], directory, variables)
            for each in ("gather", "process")
        ]
        script = str(Path(journal.__file__).with_name("skywalking_client.py"))
        arguments = ["--endpoint", self.address, "--journal", str(self.journal), "--rate", "100"]
        self.agent = Service("agent", [sys.executable, script, *arguments], directory)
        self.all = [self.oap.service, *self.halves, self.agent]

    def wait(self, holds: object, message: str) -> None:
        wait(holds, message, self.oap.service, *self.halves)

    def close(self) -> None:
        for each in self.all:
            each.kill()

    def answered(self, kind: str) -> set[int]:
        """The numbers of what was answered."""
        return {
            number
            for request in journal.read(self.journal)
            if request.kind == kind and request.answered
            for number in request.numbers
        }

    def logs(self) -> Counter[int]:
        """How often the OAP has each log of the application."""
        found = (NUMBER.search(content) for content in self.oap.stored("log", "content"))
        return Counter(int(each[1]) for each in found if each)

    def segments(self) -> set[int]:
        """The segments of the application that the OAP has; equal ones are one row."""
        rows = self.oap.stored("segment", "data_binary")
        found = {segment_number(SegmentObject.FromString(base64.b64decode(each))) for each in rows}
        return found - {-1}


def listens(address: str) -> bool:
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=1)
        except grpc.FutureTimeoutError:
            return False
        return True


def events(count: int) -> list[Event]:
    source, now = Source(service="shop", serviceInstance="demo"), int(time.time() * 1000)
    return [
        Event(uuid=str(uuid.uuid4()), source=source, name="Start", startTime=now, endTime=now, layer="GENERAL")
        for _ in range(count)
    ]


def profile_task() -> dict[str, object]:
    service = f"{base64.b64encode(b'shop').decode()}.1"
    limits = {"duration": 5, "minDurationThreshold": 0, "dumpPeriod": 10, "maxSamplingCount": 5}
    return {"serviceId": service, "endpointName": "serve order", **limits}


def tasks(address: str) -> Commands:
    """What an agent gets that asks for tasks."""
    question = ProfileTaskCommandQuery(service="shop", serviceInstance="demo").SerializeToString()
    with grpc.insecure_channel(address) as channel:
        return Commands.FromString(channel.unary_unary(TASKS)(question, timeout=60))


def test_a_real_oap_has_all_that_was_answered_beside_kills_and_answers_questions(tmp_path: Path) -> None:
    (tmp_path / "oap").mkdir()
    run = Run(tmp_path)
    with ExitStack() as stack:
        stack.callback(run.close)
        for each in (run.oap.service, *run.halves):
            each.start()
        run.wait(lambda: listens(run.oap_address) and listens(run.address), "the servers do not start")
        run.agent.start()
        sent = events(50)
        with grpc.insecure_channel(run.address) as channel:
            channel.stream_unary(EVENTS)((each.SerializeToString() for each in sent), timeout=60)
        run.wait(lambda: len(run.logs()) > SEVERAL, "the OAP gets nothing")
        for each in run.halves:
            each.kill()
            each.start()
        killed = max(run.logs())
        run.wait(lambda: max(run.logs()) > killed + SEVERAL, "the OAP gets nothing after the kills")
        run.agent.stop()
        run.wait(run.agent.ended, "the agent does not end")
        logs, segments = run.answered("stream logs"), run.answered("segments")
        assert min(len(logs), len(segments)) > 2 * SEVERAL
        run.wait(lambda: logs <= run.logs().keys(), "the OAP does not get all logs")
        run.wait(lambda: segments <= run.segments(), "the OAP does not get all segments")
        run.wait(lambda: len(run.oap.stored("events", "uuid")) == len(sent), "the OAP does not get all events")
        assert set(run.oap.stored("events", "uuid")) == {each.uuid for each in sent}
        task = run.oap.ask(NEW_TASK, task=profile_task())["createProfileTask"]["id"]
        run.wait(lambda: task in str(tasks(run.address)), "the agent does not get the task")
