"""Schema of admission policies of teams' namespaces: what they allow, and whether they only warn."""
