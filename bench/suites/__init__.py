"""Suite files and method presets -> cells, checked against the papers."""
