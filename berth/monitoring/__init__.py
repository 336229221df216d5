"""Metrics, dashboards and alerts: the tables beside this file, applied to one fleet and one backend."""
