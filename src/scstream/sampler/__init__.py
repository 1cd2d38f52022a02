"""The method: what happens to the clusters in a batch, step by step."""
