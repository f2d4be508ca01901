"""What `outputs/flow.py` is made of: arcs laid end to end, the search, its exact view, the compact form."""
