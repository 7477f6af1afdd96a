"""Redaction: secrets and personal data are replaced before anything is stored, indexed, embedded or sent."""

from seasoned.redaction.policy import KINDS, RedactionPolicy, read_policy
from seasoned.redaction.redactor import Redactor
from seasoned.redaction.sending import RedactingEmbedder, redacted_flow, redacting_model
from seasoned.redaction.store import RedactingStore, redacting_store

__all__ = [
    "KINDS",
    "RedactingEmbedder",
    "RedactingStore",
    "RedactionPolicy",
    "Redactor",
    "read_policy",
    "redacted_flow",
    "redacting_model",
    "redacting_store",
]
