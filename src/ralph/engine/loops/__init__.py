"""What each loop does to the world: decisions in, facts out."""
