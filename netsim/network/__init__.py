"""Network: links and their laws, wires, channels, inboxes, radio, and active adversaries."""
