#!/usr/bin/env python3
"""links.py HTML HEADER - whether the manual is whole.

Each link of each page under HTML to a file or an anchor finds it; no page loads anything from
elsewhere; each function of HEADER has an entry. Links to other sites are not followed.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        target = values.get("href") or values.get("src")
        # <link> names the page itself, and the index, as well as styles.
        if target is not None:
            (self.links if tag == "a" else self.loads).append(target)


def faults(root, header):
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    links = 0
    for path, page in pages.items():
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{path.relative_to(root)} loads {target}"
                continue
            links += 1
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{path.relative_to(root)} links to {target}: no such file"
            elif parts.fragment and file in pages:
                if unquote(parts.fragment) not in pages[file].anchors:
                    yield f"{path.relative_to(root)} links to {target}: no such anchor"
    entries = set().union(*(page.anchors for page in pages.values()))
    functions = re.findall(r"^DUO_API [^(]*?(duo_\w+)\(", header.read_text(), re.M)
    for function in functions:
        if f"c.{function}" not in entries:
            yield f"{function} has no entry"
    print(f"{len(pages)} pages, {links} links, {len(functions)} functions")
    if not (pages and links and functions):
        yield "nothing was looked at"


def main():
    found = list(faults(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
    for fault in found:
        print("FAILED:", fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
