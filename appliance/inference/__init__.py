"""Models and engines: what can be had, what this machine carries, and who runs it."""
