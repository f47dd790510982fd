"""Making a generation and publishing it."""
