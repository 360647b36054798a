"""The values that a program passes to this package and gets from it: errors, messages, arguments, configuration keys.

Uses the standard library alone, and no JVM.
Begin with `errors.py`, then `message.py`.
"""
