"""The web: searching it and reading pages, from inside a fence."""
