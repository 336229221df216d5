"""The report: one self-contained HTML page, and the quota tree as a picture."""
