"""Small things that any part of the package may use: threads, BLAS, quick data classes."""
