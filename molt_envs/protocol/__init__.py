"""The token-first protocol: messages, segments, episodes and their wire forms."""
