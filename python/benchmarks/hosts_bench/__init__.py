"""Queues of three hosts to one shared file system: a Spark job on each host that writes Parquet, and the archive."""
