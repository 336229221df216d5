"""What the API server, or the webhook of a kind, refuses of a job as it is written."""
