"""Results on disk: folders of cells, claims by processes, and states.

results/<experiment>/<cell id>/
    cell.json          the resolved cell
    attempts/0001.json one execution: process, times, outcome; the highest one is the claim
    attempts/0001.log  the traceback of a failure
    history.jsonl      metrics during training, one JSON object per line
    checkpoint.pt      state for resuming (removed when the cell is finished)
    checkpoint.json    number of steps in the checkpoint
    arrays.npz         stored arrays
    provenance.json    commit, versions, device, wall time
    digests.json       the SHA-256 of each of these files, except checkpoints and attempts, which
                       have their own
    summary.json       the metrics; written last, so its existence means "done"
results/launches/      queues of running launchers, and their logs
"""
