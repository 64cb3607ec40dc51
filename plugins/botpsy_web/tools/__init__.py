"""The web's tools."""
