"""What runs did and do: status, logs, receipts, recovery."""
