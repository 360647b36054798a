"""Processing: filters and senders, on Spark."""
