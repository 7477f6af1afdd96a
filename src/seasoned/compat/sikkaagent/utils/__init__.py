"""What the other modules share, under the names of Sikka Agent."""
