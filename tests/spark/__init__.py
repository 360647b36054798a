"""Tests of the data source; a package, so that its conftest.py does not replace the other one."""
