"""The services of the orchestrator, one file each: chat, tools, sessions, context, provider, recovery."""
