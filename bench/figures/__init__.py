"""Tables in, axes out: `draw_*(frame, ax)` draw measured and published values and nothing else."""
