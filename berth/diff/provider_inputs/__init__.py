"""Inputs of resources as the provider spells them: what changes between two registrations, and what it does."""
