"""Receivers: plugins that take events from clients."""
