"""What an index is made of, on disk."""
