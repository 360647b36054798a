"""Gathering: receivers and fetchers, and the way into the queue. No Spark."""
