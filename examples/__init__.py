"""Programs that show what the package is for; run them from the root of the repository."""
