"""The clusters of a model as people want to read them: tables, words, HTML."""

from scstream.summary.page import model_page as model_page
from scstream.summary.table import summary_frame as summary_frame
from scstream.summary.table import summary_rows as summary_rows
