"""How methods are trained: options, stages, the loop around Lightning's Trainer, checkpoints and time budgets."""
