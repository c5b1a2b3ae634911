"""Text games for two seats: Kuhn poker, a negotiation, and word clues.

Each module holds one game: its rules, its script and oracle, and its view from one seat.
"""
