"""Access: who calls, what they may call, and who was asked."""
