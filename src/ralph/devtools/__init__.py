"""For people who write agent adapters: a model server that plays a script."""
