"""One agent over many runs with all four memories, in an environment that others wrote."""
