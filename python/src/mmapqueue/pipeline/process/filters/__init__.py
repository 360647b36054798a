"""Filters of a pipe, and the functions on DataFrames that they are.

    from mmapqueue.pipeline import events, explode
    from mmapqueue.pipeline.process import filters

    rows = filters.parse_json(explode(events(spark, "/data/logs"), "logs"), "body", {"status": "int", "path": "string"})
    errors = filters.sample(rows.where("status < 500"), 0.01).unionByName(rows.where("status >= 500"))

A filter gets rows without errors. All of them are deterministic: a micro-batch that is repeated gives the same rows.
"""

from mmapqueue.pipeline.process.filters._dedupe import Dedupe, dedupe
from mmapqueue.pipeline.process.filters._explode import Explode
from mmapqueue.pipeline.process.filters._json import ParseJson, parse_json
from mmapqueue.pipeline.process.filters._python import PythonFilter, load, python
from mmapqueue.pipeline.process.filters._regex import Regex, regex
from mmapqueue.pipeline.process.filters._rows import Drop, Sample, Select, Where, sample
from mmapqueue.pipeline.process.filters._texts import Attributes, Redact, attributes, redact

__all__ = [
    "Attributes",
    "Dedupe",
    "Drop",
    "Explode",
    "ParseJson",
    "PythonFilter",
    "Redact",
    "Regex",
    "Sample",
    "Select",
    "Where",
    "attributes",
    "dedupe",
    "load",
    "parse_json",
    "python",
    "redact",
    "regex",
    "sample",
]
