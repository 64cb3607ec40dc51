"""One command, read, shown and run inside a sandbox."""
