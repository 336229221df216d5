"""Changes of guarantees in time."""
