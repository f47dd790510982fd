"""Runners for local models: a constrained step chooses the tool, the answer comes from a fresh prompt without tools."""
