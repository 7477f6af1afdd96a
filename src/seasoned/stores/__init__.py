"""The engines: each a `Store`, each certified by `seasoned.testing.StoreContract`."""
