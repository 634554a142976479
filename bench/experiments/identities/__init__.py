"""The papers' equations on random features: our functions on one side, the papers' on the other.

Formulas are those of `bench/papers/data`, written anew here. One file a paper.
"""
