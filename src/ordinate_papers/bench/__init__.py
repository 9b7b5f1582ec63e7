"""Time and memory of the losses beside published loops, pytorch-metric-learning and the least that they must do."""
