"""Attacks on running cells: kills, stops, wrong clocks and full disks; what `bench` makes of them.

Each category is a module with one function, `attempts(rng, root)`: it yields an `Attempt` for each
thing tried, for as long as it is asked. What a category tries depends on its generator alone.
"""
