"""Code intelligence: from a repository to evidence."""
