"""Figures: functions `draw_*(frame, ax)` that draw measured and published values."""
