"""What both doors share of HTTP: what a request is, who waits for it, and how an error is told."""
