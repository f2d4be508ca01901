"""Behind the door of `outputs/flow.py`: arcs laid end to end, the search, its exact view, the compact form."""
