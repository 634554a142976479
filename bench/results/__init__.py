"""Results on disk: folders of cells, claims on them, their states, and one frame of all.

results/<experiment>/<cell id>/
    cell.json          the resolved cell
    attempts/0001.json one execution: who, when, how it ended; the highest one is the claim
    attempts/0001.log  the traceback of a failure
    history.jsonl      metrics while it trained, one JSON object a line
    checkpoint.pt      where to go on (gone when the cell is done)
    checkpoint.json    after how many steps that is
    arrays.npz         arrays worth keeping
    provenance.json    commit, versions, device, wall time
    digests.json       the SHA-256 of each of these files, but of checkpoints and attempts, which
                       carry their own
    summary.json       the metrics; written last: that it exists is what "done" means
results/launches/      what running launchers have queued, and their logs
"""
