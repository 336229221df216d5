"""What API servers and controllers add to objects of a cluster."""
