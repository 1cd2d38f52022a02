"""The estimator by themes, each a class above the one before; `scstream.model` is the whole."""
