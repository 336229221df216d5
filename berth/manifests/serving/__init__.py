"""Serving in namespaces of teams: the scope of Kueue's webhooks, and rules of admission policies."""
