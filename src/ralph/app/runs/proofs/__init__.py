"""What proves a run when it has ended: its evidence, its proof receipt, its checks run again, proofs it changed."""
