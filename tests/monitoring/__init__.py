"""Tests of the directory monitoring."""
