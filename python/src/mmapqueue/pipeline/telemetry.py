"""Metrics of both halves of a pipeline, by the names of Apache SkyWalking Satellite.

Gathering serves on port `telemetry.listen` + number of the process, processing on the port after those.
"""

from mmapqueue.pipeline._gather_telemetry import GatherTelemetry
from mmapqueue.pipeline._process_telemetry import ProcessTelemetry

__all__ = ["GatherTelemetry", "ProcessTelemetry"]
