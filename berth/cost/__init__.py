"""Hourly cost of machines, from the user's table of prices. A missing price is never guessed."""
