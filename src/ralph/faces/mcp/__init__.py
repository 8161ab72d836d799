"""The Model Context Protocol: what ralph does and knows, as tools for another agent."""
