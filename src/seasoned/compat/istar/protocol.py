"""The protocols of istar under their names."""

from seasoned.runs.protocols import AtomExtractor, EpisodeClassifier, RetroClassifier

__all__ = ["AtomExtractor", "EpisodeClassifier", "RetroClassifier"]
