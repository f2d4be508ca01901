"""Planted faults: learners that are wrong on purpose, to measure the judge with."""
