"""What is counted and measured while the gateway works, and the two forms in which it is told."""
