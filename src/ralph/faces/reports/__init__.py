"""Reports on runs, in words, as Markdown and as a page; no terminal is needed."""
