"""Memory for agents that learn from what they did."""
