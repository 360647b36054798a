"""The commands that need typer, a module each; `app` loads the one that is called.

A module has the name of its command, and in it a function of that name, or a `typer.Typer` with subcommands. What a
module imports at its top must be quick: pyarrow and the like are imported where they are used.
"""
