"""Configuration: models, and loading of files."""

from mmapqueue.pipeline.config._model import (
    DEAD_LETTER,
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
    "DEAD_LETTER",
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
