"""One consumer: pops, prefetched records, acks, and the records that interrupted calls leave to the next pop.

Begin with `popper.py`; `acks.py` has the acks, which are sent to the JVM together.
"""
