"""Tables in HTML, for what notebooks show."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["html_table", "page", "table_of_text"]


def page(title: str, body: str) -> str:
    """A page that needs no other file, in the reader's choice of light or dark."""
    return (
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><meta name='color-scheme' content='light dark'>"
        f"<meta name='viewport' content='width=device-width'><title>{html.escape(title)}</title>"
        f"<body style='font-family:sans-serif;margin:1em'>{body}</body></html>\n"
    )


def html_table(head: Iterable[str], rows: Iterable[Iterable[str]], bold: int | None = None) -> str:
    """An HTML table; the row `bold` stands out."""
    cells = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    lines = [f"<tr>{cells}</tr>"]
    for number, row in enumerate(rows):
        style = " style='font-weight:bold'" if number == bold else ""
        cells = "".join(f"<td style='text-align:right'>{html.escape(text)}</td>" for text in row)
        lines.append(f"<tr{style}>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def table_of_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table that a notebook aligns as its own."""
    titles = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
