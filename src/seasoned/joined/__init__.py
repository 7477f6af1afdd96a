"""What joins the four memories: one context over all of them, and credit for what helped."""
