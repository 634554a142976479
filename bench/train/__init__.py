"""Training loops, optimisers and checkpoints."""
