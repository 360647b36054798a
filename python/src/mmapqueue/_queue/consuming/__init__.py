"""One consumer: pops, prefetched records, acks, and the records that interrupted calls leave to the next pop.

Begin with `popper.py`, which holds the parts. `port.py` has all calls into the JVM.
"""
