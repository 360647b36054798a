"""Processing: filters and senders, on Spark.

Begin with `runner.py`; `events.py` decodes the records.
"""
