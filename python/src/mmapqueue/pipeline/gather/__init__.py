"""Gathering: receivers and fetchers, and the inbox of the queue. No Spark.

Begin with `agent.py`; `inbox.py` pushes the events.
"""
