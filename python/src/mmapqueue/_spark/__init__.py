"""Queues as Spark's DataFrames, and the jar on the class path of a session.

Uses `_jvm` and `_values`, and of pyspark no more than the objects that the caller hands in.
Begin with `frames.py`; `session.py` has `configure`.
"""
