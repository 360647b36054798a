"""All tables and plots of the benchmarks.

`run` runs a part, notes the machine by `machine`, and prints the tables by `show`. `publish` keeps the raw results of a
run in docs/benchmarks/raw. `python -m bench_report` makes docs/explanation/benchmarks.md, README.md and the plots of
these alone, with the targets met or missed.
"""
