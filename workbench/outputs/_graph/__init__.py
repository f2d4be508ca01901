"""Behind the doors of `outputs/graph.py` and `outputs/tree.py`: pairwise models, their searches, exact views, sums."""
