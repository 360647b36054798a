"""The producer that pushes records one by one, without a round trip for each.

Begin with `producer.py`; `sender.py` has the thread that pushes the batches.
"""
