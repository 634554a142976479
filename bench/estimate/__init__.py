"""How long cells will take, and how much memory."""
