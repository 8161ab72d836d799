"""What is told to who was not there: people in the morning, collectors of spans."""
