"""The names of the systems that `seasoned` takes the place of: their documented code runs when its imports change."""
