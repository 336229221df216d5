"""Comparison of fleets on Alibaba Cloud, and the losses in their previews."""
