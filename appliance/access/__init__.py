"""Who is asking: one-time tokens, sessions, keys."""
