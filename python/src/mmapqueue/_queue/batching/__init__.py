"""The producer that pushes records one by one, without a round trip for each."""
