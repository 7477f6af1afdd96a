"""Other projects' own tests, run with a part of this package put in place of theirs; not collected by `make test`."""
