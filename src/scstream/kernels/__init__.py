"""All compiled code. Kernels take arrays and numbers, and know nothing of models or engines."""
