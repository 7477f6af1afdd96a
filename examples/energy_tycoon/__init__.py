"""A player on a competitive energy market who learns from run to run what the market never tells."""
