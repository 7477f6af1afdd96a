"""Adapters that let other frameworks remember with this package; each needs its framework, none is loaded here."""
