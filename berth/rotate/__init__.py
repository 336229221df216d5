"""Replace a pool without breaking a guarantee: ordered edits of the stack file, each checked."""
