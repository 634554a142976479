"""Components of methods: targets, negatives, neighbours and objectives, and their combination.

Shapes: N queries (images of a batch), K negatives of one query, D dimensions.
"""
