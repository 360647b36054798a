"""The producer that pushes one record a call without one round trip a record."""
