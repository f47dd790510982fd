"""Front ends: from the syntax tree of a blob to how values move through it."""
