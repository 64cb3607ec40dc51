"""Mail: what stands between the assistant and messages, addresses and servers that mean harm."""
