"""An agent of LangChain's that stops repeating a mistake: what it learned in one thread serves the next."""
