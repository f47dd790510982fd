"""Running the appliance: health, supervision, checks."""
