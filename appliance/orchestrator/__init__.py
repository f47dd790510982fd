"""The runtime behind agents: state, coordinators, services, tools and missions."""
