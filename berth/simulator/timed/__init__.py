"""Admission over time: jobs arrive, run, end, lose work and return, each at its second."""
