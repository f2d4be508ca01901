"""Forging certificates, to find out whether a checker can be made to say "proven" of something false."""

import forging.edits_of_files
import forging.edits_of_proofs
import forging.edits_of_slopes
import forging.edits_of_statements  # noqa: F401  the edits register themselves
from forging.forgery import EDITS

__all__ = ["EDITS"]
