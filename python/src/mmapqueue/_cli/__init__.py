"""The command line: `mmapqueue`, and `python -m mmapqueue`.

Uses `_tools`, `_jvm` and `_values`, and imports `pipeline` when one of its commands runs.
Begin with `main.py`.
"""
