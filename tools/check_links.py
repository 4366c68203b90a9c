"""Check all internal links of the built documentation, including anchors and images.

python tools/check_links.py site
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'(?:href|src)="([^"]+)"')
EXTERNAL = re.compile(r"[a-z]+:|//|\?|#$")
NAME = re.compile(r'\bid="([^"]+)"')


def main(site: Path) -> int:
    """Print broken links. Returns 1 if there are any."""
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    targets = [(page, link) for page in pages for link in internal_links(page)]
    broken = [(page, link) for page, link in targets if not is_valid(page, link)]
    for page, link in broken:
        print(f"{page}: {link} is broken")
    print(f"{len(pages)} pages, {len(targets):,} internal links, {len(broken)} broken")
    return bool(broken)


def internal_links(page: Path) -> list[str]:
    """Return the links of a page within the documentation."""
    text = page.read_text(encoding="utf-8")
    return [link for link in LINK.findall(text) if not EXTERNAL.match(link)]


def is_valid(page: Path, link: str) -> bool:
    """Whether the file and the anchor exist."""
    path, _, anchor = link.partition("#")
    target = page.parent / unquote(path.partition("?")[0]) if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".html" or unquote(anchor) in anchors(target.resolve())


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page."""
    return frozenset(NAME.findall(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
