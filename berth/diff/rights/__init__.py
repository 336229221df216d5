"""Who may do more, or less, after a change."""
