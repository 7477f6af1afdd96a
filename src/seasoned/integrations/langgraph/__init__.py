"""`SeasonedStore`: LangGraph's long-term memory over any store of this package.

A namespace is a scope: the item `("memories", "alice"), "k1"` of a store under the base scope `("acme",)` is the record
of kind `langgraph_item` with the id `k1` in the scope `("acme", "memories", "alice")`. So a namespace has what a scope
has: its own index and word statistics, nothing that another tenant could be seen by, and a prefix that is compared
label by label. A search in one user's namespace costs what that namespace holds, however many others there are; one
over many namespaces asks each. Labels and keys that no scope part or id can be (a line break, a key of 4,000
characters) are written in an escaped form and come back as they were given.

The value lies in `data.value`. Its texts at the indexed paths are the record's text and its vectors, one for each text,
of which the nearest counts; so `Memory.recall(…, subtree=True)` over the same scope finds items too.
"""

from seasoned.integrations.langgraph.items import KIND
from seasoned.integrations.langgraph.store import SeasonedStore

__all__ = ["KIND", "SeasonedStore"]
