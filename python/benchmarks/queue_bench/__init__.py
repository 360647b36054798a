"""What pushing, popping and acking from Python costs, in one run with other queues; see README.md beside it."""
