"""The connection to the JVM: which JVM, how it is called, which memory both sides share, when it ends.

Uses `_values` and py4j; every call into the JVM goes through this package.
Begin with `bridge.py`, which finds the JVM, and `calls.py`, which calls it; `names.py` has all that Java must agree to.
"""
