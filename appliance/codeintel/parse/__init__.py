"""From the bytes of one blob to its facts."""
