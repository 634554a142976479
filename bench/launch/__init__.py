"""Run missing cells: in this process, in local workers, or as Slurm jobs."""
