"""What a benchmark run measured, as tables, plots and targets that are met or missed.

`machine` notes on what and when a part of a run was done, `publish` keeps the raw results of a run small and in one
place, and `python -m bench_report` makes docs/explanation/benchmarks.md, README.md and the plots anew from these raw
results alone.
"""
