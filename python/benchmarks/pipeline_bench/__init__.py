"""What a gather process accepts, beside bare servers and the OpenTelemetry collector; see README.md beside it."""
