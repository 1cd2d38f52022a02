"""The long description of the package: README.md with links that work outside of a checkout."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

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


class LongDescription(MetadataHookInterface):
    """Sets ``readme`` from README.md and the repository's address in ``project.urls``."""

    def update(self, metadata: dict) -> None:
        """Add the long description to the metadata."""
        root = Path(self.root)
        source = (root / "src" / "scstream" / "__init__.py").read_text(encoding="utf-8")
        version = re.search(r'__version__ = "([^"]+)"', source)[1]
        text = (root / "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": long_description(text, address, version),
        }
