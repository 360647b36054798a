"""Senders: they write rows somewhere, each as a streaming query."""
