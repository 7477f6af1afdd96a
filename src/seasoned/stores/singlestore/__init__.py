"""SingleStore: records as rows of one table, over its MySQL protocol."""

from seasoned.stores.singlestore.candidates import Distance
from seasoned.stores.singlestore.store import SingleStoreStore, open_url

__all__ = ["Distance", "SingleStoreStore", "open_url"]
