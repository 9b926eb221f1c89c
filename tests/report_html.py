"""A page as a test sees it: its elements in order, with nothing but Python's own parser."""

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "hr", "link", "path", "use", "circle", "rect"}


class Page(HTMLParser):
    """The elements of a page, each as (tag, attributes, text so far inside it)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.unbalanced: list[str] = []
        self._open: list[int] = []
        self.feed(html)
        self.unbalanced += [self.elements[at][0] for at in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self._open and self.elements[self._open[-1]][0] == tag:
            self._open.pop()
        else:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self.elements[at][2].append(data)

    def all(self, *tags: str, **attributes: str) -> Iterator[tuple[dict[str, str | None], str]]:
        """Yield the attributes and the text of every such element."""
        for tag, own, text in self.elements:
            known = all(own.get(name) == value for name, value in attributes.items())
            if tag in tags and known:
                yield own, " ".join("".join(text).split())

    def headings(self) -> list[tuple[int, str]]:
        return [
            (int(tag[1]), " ".join("".join(text).split()))
            for tag, _, text in self.elements
            if tag in ("h1", "h2", "h3", "h4")
        ]
