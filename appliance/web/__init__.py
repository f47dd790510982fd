"""What the doors share of HTTP: what a request is, what it is about, who waits for it, and how an error is told."""
