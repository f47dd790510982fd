"""Several parts of the appliance together."""
