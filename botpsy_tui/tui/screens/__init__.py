"""Whole screens: the chat, the edit form, the first run."""
