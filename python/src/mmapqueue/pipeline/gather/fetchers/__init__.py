"""Fetchers: plugins that fetch events by themselves."""
