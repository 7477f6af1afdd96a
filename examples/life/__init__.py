"""A life of conflicts, and an agent that learns what works for this person from its experience."""
