"""Models behind endpoints, and what their replies hold."""
