"""What teams use of what they are guaranteed, from Kueue's metrics over a period."""
