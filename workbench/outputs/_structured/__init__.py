"""Behind `outputs/structured.py`: users' functions called with care, the outputs seen, their texts, their fractions."""
