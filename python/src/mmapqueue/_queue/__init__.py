"""The queue and its consumers: push, pop, ack, iteration, random access.

Uses `_jvm` and `_values`, and no Spark.
Begin with `queue.py`; `handle.py` has the state that its parts share, `producer.py` one push, `consuming/popper.py` one
pop.
"""
