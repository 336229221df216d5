"""A fleet to look at: one page that asks nobody for anything, and its quota tree as a picture."""
