"""Missing cells -> units of work -> workers: in this process, or a local queue of slots."""
