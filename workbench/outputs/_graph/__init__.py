"""What `outputs/graph.py` and `outputs/tree.py` are made of: pairwise models, their searches, exact views, sums."""
