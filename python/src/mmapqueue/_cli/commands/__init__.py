"""The commands that need typer, a module each; `app` loads the one that is called.

A module has the name of its command, and contains a function of that name, or a `typer.Typer` with subcommands. Imports
at the top of a module must be fast: pyarrow and the like are imported where they are used.
"""
