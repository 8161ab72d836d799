"""The terminal board, by Textual: imported only when someone watches."""
