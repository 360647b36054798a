"""Clients of other languages, and Prometheus, send to the receivers."""
