"""Whether all links within a built site lead somewhere, anchors and pictures included.

python tools/check_links.py site
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'(?:href|src)="([^"]+)"')
ELSEWHERE = re.compile(r"[a-z]+:|//|\?|#$")
NAME = re.compile(r'\bid="([^"]+)"')


def main(site: Path) -> int:
    """Print links that lead nowhere; 1 where there are any."""
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    found = [(page, link) for page in pages for link in links(page)]
    broken = [(page, link) for page, link in found if not leads(page, link)]
    for page, link in broken:
        print(f"{page}: {link} leads nowhere")
    print(f"{len(pages)} pages, {len(found):,} links within the site, {len(broken)} broken")
    return bool(broken)


def links(page: Path) -> list[str]:
    """Those of a page that stay within the site."""
    text = page.read_text(encoding="utf-8")
    return [link for link in LINK.findall(text) if not ELSEWHERE.match(link)]


def leads(page: Path, link: str) -> bool:
    """Whether there is such a file, and such a place in it."""
    path, _, anchor = link.partition("#")
    target = page.parent / unquote(path.partition("?")[0]) if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".html" or unquote(anchor) in names(target.resolve())


@cache
def names(page: Path) -> frozenset[str]:
    """Places of a page that can be linked to."""
    return frozenset(NAME.findall(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
