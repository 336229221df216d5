"""The quotas of Google Cloud that a fleet needs, and what a project has of them."""
