"""Receivers: they take events from clients."""
