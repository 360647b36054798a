"""Archives on S3: a server on loopback, and Hadoop's S3A as its client. `make test-s3` runs them."""
