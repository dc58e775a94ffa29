"""Parse a page into elements and texts, and check that every opened element is closed."""

from html.parser import HTMLParser

LOADING = {"src", "href", "srcset", "data", "poster", "action", "formaction", "background", "cite"}
VOID = {"meta", "link"}


class Page(HTMLParser):
    """Elements of a page, and whether each opened element was closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.faults: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def attributes(self, name):
        return [attrs[name] for _, attrs in self.elements if name in attrs]
