"""From the flows of a whole repository to its edges: what calls what, how that is known, and how surely."""
