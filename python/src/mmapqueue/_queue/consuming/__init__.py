"""One consumer: its pops, what it prefetches, its acks, and what interrupted calls leave to the next pop.

Begin with `popper.py`; `acks.py` has the acks, which reach the JVM together.
"""
