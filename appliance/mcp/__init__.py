"""The door for editors and agents: one set of tools, spoken as the Model Context Protocol."""
