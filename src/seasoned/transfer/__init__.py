"""Bringing memories in and out: importers of other programs' conversations, and the package's own bundles."""
