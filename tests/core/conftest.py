import pytest

from scstream.core import plain


@pytest.fixture(params=["plain", "native"])
def core(request):
    """Each of the two cores."""
    if request.param == "plain":
        return plain
    return pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
