"""What people look at: metrics as text, and the page of a model."""
