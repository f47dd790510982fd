"""From a question to ranked spans."""
