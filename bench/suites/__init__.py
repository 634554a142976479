"""Suite files and method presets, expanded to cells and checked against the papers."""
