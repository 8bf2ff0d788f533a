"""What the user forbids, and which changes break it. Pure."""
