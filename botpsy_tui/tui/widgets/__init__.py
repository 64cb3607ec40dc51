"""The parts of the chat."""
