"""Tools for a queue that no process has open: verify, repair, copy, resize.

Uses `_jvm` and `_values`; the tools themselves run in the JVM.
Begin with `jobs.py`; `copies.py` has copy and resize, `reports.py` the results.
"""
