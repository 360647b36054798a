"""Configuration: models, and loading of files.

Begin with `_model.py`; `_load.py` reads files.
"""

from mmapqueue.pipeline.config._changes import files_in, files_of, only_by_restart, value_of
from mmapqueue.pipeline.config._load import Loaded, load, load_all
from mmapqueue.pipeline.config._model import (
    DEAD_LETTER,
    Address,
    Addresses,
    ClientTls,
    Cors,
    Gather,
    Pipe,
    Pipeline,
    Server,
    SparkSettings,
    Telemetry,
    Tls,
    Url,
)
from mmapqueue.pipeline.config._problems import ConfigFileError
from mmapqueue.pipeline.config._queue import DeadLetter, QueueSettings
from mmapqueue.pipeline.config._tls import TlsFault, require_tls, tls_context, tls_faults, tls_in

__all__ = [
    "DEAD_LETTER",
    "Address",
    "Addresses",
    "ClientTls",
    "ConfigFileError",
    "Cors",
    "DeadLetter",
    "Gather",
    "Loaded",
    "Pipe",
    "Pipeline",
    "QueueSettings",
    "Server",
    "SparkSettings",
    "Telemetry",
    "Tls",
    "TlsFault",
    "Url",
    "files_in",
    "files_of",
    "load",
    "load_all",
    "only_by_restart",
    "require_tls",
    "tls_context",
    "tls_faults",
    "tls_in",
    "value_of",
]
