"""Where agents work: the user's own tree, or one made for a task."""
