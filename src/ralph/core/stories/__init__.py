"""Stories: review rules, repair, order, prompt."""
