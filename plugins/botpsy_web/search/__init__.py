"""Searching the web: one interface to several engines, asked in order until one answers."""
