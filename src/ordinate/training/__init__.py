"""How methods are trained: options, stages, the loop, its callbacks, checkpoints and time budgets."""
