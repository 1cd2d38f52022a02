"""Names that the command line offers; the rooms that own them take long to load."""

SOURCE_FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "npy")  # scstream.sources.FORMATS
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet")  # scstream.sinks.FORMATS
FIELDS = ("label", "probability", "score", "anomaly", "group")  # scstream.sinks.FIELDS
WRITTEN = ("label", "group", "probability", "score")  # of these, unless others are asked for
GROUP_LEVEL = 0.3  # scstream.Rules().group_level
