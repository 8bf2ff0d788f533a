"""Notes that agents' hooks read: worktree locks, waiting handoffs, limits. Standard library only."""
