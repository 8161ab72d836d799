"""What each loop may touch: it carries out decisions and tells what happened."""
