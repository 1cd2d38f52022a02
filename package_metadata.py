"""What the build asks for: the version, and README.md with links that work everywhere."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")


def long_description(readme: str, address: str | None, version: str) -> str:
    """Return a README whose relative links lead to a published repository.

    Parameters
    ----------
    readme : str
    address : str or None
        The repository, such as ``https://example.org/name``. Without one, links become plain text
        and pictures are left out.
    version : str
        Links lead to the files of this version.
    """

    def replaced(link: re.Match[str]) -> str:
        picture, text, path = link.groups()
        if address is None:
            return "" if picture else text
        kind = "raw" if picture else "blob"
        return f"{picture}[{text}]({address.rstrip('/')}/{kind}/v{version}/{path})"

    return RELATIVE.sub(replaced, readme)


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that is computed: the version and the long description."""
    root = Path(__file__).parent
    source = (root / "src" / "scstream" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "([^"]+)"', source)[1]
    readme = (root / "README.md").read_text(encoding="utf-8")
    address = project.get("urls", {}).get("Repository")
    text = long_description(readme, address, version)
    return {"version": version, "readme": {"content-type": "text/markdown", "text": text}}
