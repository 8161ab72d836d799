"""What checks rest on, watched while a loop runs: compared, named, and put back as it was for a sealed check."""
