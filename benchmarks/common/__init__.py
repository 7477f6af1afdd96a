"""What the benchmarks share: measures, reports, made-up data, and the processes that engines run in."""
