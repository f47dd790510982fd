"""What both doors share."""
