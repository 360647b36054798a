"""The commands for archives, as in the package above."""
