"""What a site consists of: the SHA-256 of each file that was written, by page: `digests.json`.

    {"<page>": {"<file below the site's folder>": "<64 hex digits>", ...}, ...}

A page of which a file is gone or altered is drawn again.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeGuard

from bench.errors import StoreError
from bench.files.atomic import read_json, to_json, write_whole
from bench.files.regular import sha256_of_file

DIGESTS = "digests.json"


class Written:
    """The digests of a site's files."""

    def __init__(self, site: Path) -> None:
        """Read what was noted, if that can be read: else everything counts as altered."""
        self.site = site
        try:
            record = read_json(site / DIGESTS)
        except StoreError:
            record = None
        self.pages: dict[str, dict[str, str]] = record if _is_sound(record) else {}

    def is_whole(self, page: str) -> bool:
        """Return whether every file of a page is what was written."""
        files = self.pages.get(page, {})
        return bool(files) and all(self._digest(name) == sha for name, sha in files.items())

    def note(self, page: str, files: Iterable[Path]) -> None:
        """Keep the digests of the files that were written of a page."""
        names = (path.relative_to(self.site).as_posix() for path in files)
        digests = {name: self._digest(name) for name in sorted(names)}
        self.pages[page] = {name: digest for name, digest in digests.items() if digest is not None}

    def save(self) -> None:
        """Write them."""
        write_whole(self.site / DIGESTS, to_json(self.pages))

    def _digest(self, name: str) -> str | None:
        try:
            return sha256_of_file(self.site / name)
        except StoreError:  # it is a folder, say
            return None


def _is_sound(record: object) -> TypeGuard[dict[str, dict[str, str]]]:
    return isinstance(record, dict) and all(
        isinstance(files, dict) and all(isinstance(digest, str) for digest in files.values())
        for files in record.values()
    )
