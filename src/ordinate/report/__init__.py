"""What people look at: metrics as text, pictures."""
