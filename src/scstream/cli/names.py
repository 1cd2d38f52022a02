"""Names that the command line offers; the rooms that own them take long to load."""

SOURCE_FORMATS = ("csv", "tsv", "jsonl", "parquet", "npy")  # scstream.sources.FORMATS
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet")  # scstream.sinks.FORMATS
FIELDS = ("label", "probability", "score", "anomaly")  # scstream.sinks.FIELDS
