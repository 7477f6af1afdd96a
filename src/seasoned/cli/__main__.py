"""`python -m seasoned.cli` is `seasoned`."""

from seasoned.cli import main

main()
