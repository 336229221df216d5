"""Kinds of stacks: a fleet on Google Cloud, a fleet on Alibaba Cloud, a team's own stack."""
