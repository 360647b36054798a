"""Invalid options of senders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mmapqueue.pipeline.config import ClientTls
from mmapqueue.pipeline.gather.backend import BackendSettings
from mmapqueue.pipeline.plugins import Batch as Limits
from mmapqueue.pipeline.process.senders._delivery import Retry
from mmapqueue.pipeline.process.senders._requests import RequestLimits
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.otlp import OtlpSender
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from mmapqueue.pipeline.process.senders.spark import SparkSender


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Retry(max_attempts=3), "no effect with then: block"),
        (lambda: Retry.model_validate({"backoff": {"first": "9s", "most": "1s"}}), "exceeds most"),
        (lambda: Limits(min_records=5, max_records=4), "min_records = 5 exceeds max_records = 4"),
        (lambda: Limits.model_validate({"longest_wait": "1s"}), "longest_wait has no effect"),
        (lambda: HttpSender(name="s", url="http://h", request=RequestLimits()), "request has no effect"),
        (lambda: HttpSender.model_validate({"name": "s", "url": "http://h", "tls": {}}), "tls has no effect"),
        (lambda: OtlpSender(name="s", endpoint="h:1", request=RequestLimits()), "request has no effect"),
        (lambda: OtlpSender(name="s", endpoint="http://h:1"), "the address of a server is HOST:PORT with a port of 1"),
        (lambda: OtlpSender(name="s", endpoint="h:0"), "the address of a server is HOST:PORT with a port of 1"),
        (lambda: SkyWalkingSender(name="s", endpoint="a:1,:11800"), "the address of a server is HOST:PORT"),
        (lambda: SkyWalkingSender(name="s", endpoint="a:1, b:0"), "the address of a server is HOST:PORT"),
        (lambda: BackendSettings(endpoint=":11800"), "the address of a server is HOST:PORT"),
        (lambda: ClientTls(key=Path("a.key")), "key has no effect without certificate"),
        (lambda: OtlpSender(name="s", endpoint="h:1", protocol="http"), "a URL begins with"),
        (lambda: SparkSender(name="s", format="kafka", select=()), "select is empty"),
        (lambda: SparkSender(name="s", format="x", options={"checkpointLocation": "/c"}), "is set by the pipeline"),
    ],
)
def test_options_without_sense_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=message):
        make()
