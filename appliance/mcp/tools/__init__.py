"""What the tools do: each reads its arguments, asks the services, and fits what comes back into an answer."""
