"""Apache Arrow: batches from shared buffers, and columns into them. Imports pyarrow on first use.

Begin with `reading.py`, one pop; `batches.py` makes the batches, `columns.py` takes them apart.
"""
