"""Gathering: receivers and fetchers, and the inbox of the queue. No Spark."""
