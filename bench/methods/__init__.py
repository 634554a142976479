"""What a method is made of: targets, negatives, neighbours, an objective, and their joining.

Shapes: N queries (images of a batch), K negatives of one query, D dimensions.
"""
