"""Configuration: models, and loading of files."""

from mmapqueue.pipeline.config._model import (
    Address,
    DeadLetter,
    Gather,
    Pipe,
    Pipeline,
    QueueSettings,
    Server,
    SparkSettings,
    Telemetry,
    Tls,
)

__all__ = [
    "Address",
    "DeadLetter",
    "Gather",
    "Pipe",
    "Pipeline",
    "QueueSettings",
    "Server",
    "SparkSettings",
    "Telemetry",
    "Tls",
]
