"""Metrics, dashboards and alerts: YAML tables in this folder, applied to one fleet and one backend."""
