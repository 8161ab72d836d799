"""The shell around the core: kernel, journal, agent runs, inbox."""
