"""The loop: a person's words in, typed events out. Knows tools and approvals, no screen."""
