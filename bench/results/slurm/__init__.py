"""What was given to Slurm for a results folder, and what Slurm says of it."""
