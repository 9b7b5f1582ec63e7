"""Images: options, reader, augmentation and file formats."""
