"""Text in, text out: a GGUF session with prompt reuse, dialects and constrained calls."""
