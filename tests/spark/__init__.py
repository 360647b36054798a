"""Tests of the data source; a package, so that its conftest.py stands beside the other one."""
