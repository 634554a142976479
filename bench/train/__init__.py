"""The training loop and its checkpoints."""
