"""The engine of a GPU, or of any other device of PyTorch."""
