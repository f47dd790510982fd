"""The services of the orchestrator."""
