"""Tools for a queue that no process has open: verify and repair.

Uses `_jvm` and `_values`; the tools themselves run in the JVM.
Begin with `jobs.py`; `reports.py` has the results.
"""
