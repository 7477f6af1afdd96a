"""Episodic control: an agent that remembers what each action came to, in environments that others wrote."""
