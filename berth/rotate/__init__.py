"""How a pool is replaced without a broken promise: ordered edits of the stack file, each checked."""
