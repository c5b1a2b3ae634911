"""Questions over generated databases, answered by a query."""
