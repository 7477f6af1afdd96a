"""Sikka Agent's memory by its own names: its documented code runs with `seasoned.compat.sikkaagent` in its place.

Its modules are here under their names: `memories`, `storages`, `agents`, `agents.base`, `models`, `utils.enums`.
Written anew after the document; what it leaves wrong is put right, see `docs/sikkaagent.md`.
"""
