"""Fetchers: they get events by themselves."""
