"""HTML becomes text with headings, title and metadata."""

import pytest

from graphreader.ingestion.loading.content import Content
from graphreader.ingestion.loading.html import read_html


def html(body: str) -> Content:
    return read_html(body.encode(), "a.html")


# Blocks of a page become paragraphs; the title, the headings and what the head tells are kept.
def test_html() -> None:
    content = html(
        '<!doctype html><html lang="en"><head><title> The\n Seine </title>'
        '<meta name="author" content="Vera"><style>p {}</style><script>var a = "<p>no</p>"</script>'
        "</head><body><nav><ul><li>Home</ul></nav><h1>A <em>river</em></h1><p>It rises in\n"
        "<b>Burgundy</b>,&nbsp;near Dijon.<p>It is long.<br>Very.<br><br>Indeed, un&shy;usual."
        "<div hidden>secret</div><h2>End</h2>Le Havre</body></html>"
    )

    assert content.text == (
        "A river\n\nIt rises in Burgundy,\xa0near Dijon.\n\nIt is long.\nVery.\n\n"
        "Indeed, unusual.\n\nEnd\n\nLe Havre"
    )
    assert content.title == "The Seine"
    assert content.metadata == {"language": "en", "author": "Vera"}
    assert content.headings == ((0, "A river"), (content.text.index("End"), "End"))


# Lists and tables stay readable; a table that lays out a page becomes paragraphs.
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ul><li>one<li>two<ul><li>deep</ul></ul>end", "- one\n- two\n- deep\n\nend"),
        ("<ol><li><p>one</p></li><li><p>two</p></li></ol>", "- one\n\n- two"),
        ("<table><tr><th>a<th>b<tr><td>1<td><p>2</p></table>", "a | b\n1 | 2"),
        ("<table><tr><td><td></tr></table>x", "x"),
        ("<table><tr><td><h2>A</h2>b<td>c</table>", "A\n\nb\n\nc"),
        (f"<table><tr><td><p>{'x' * 1001}</p><td>c</table>", f"{'x' * 1001}\n\nc"),
        ("<pre>\na\n  <b>b</b>\n</pre>", "a\n  b\n"),
        ("<p>a<span> b</span> <i> c</i>d</p>", "a b cd"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"),
        ("a<svg><title>icon</title></svg>b &lt;&amp;&#x4f60;", "ab <&你"),
        ("<p>never closed <b>bold", "never closed bold"),
        ("</p></div>stray", "stray"),
        ("<script src='a'/>after", "after"),
        ("no markup at all", "no markup at all"),
        ("", ""),
    ],
)
def test_html_blocks(body: str, text: str) -> None:
    assert html(body).text == text


# A page says its encoding itself; UTF-8 that is called otherwise is UTF-8 all the same.
def test_html_encoding() -> None:
    page = '<meta charset="{}"><p>却说 naïve'
    declared = read_html(page.format("gb2312").encode("gb18030"), "a.html")
    wrong = read_html(page.format("iso-8859-1").encode(), "a.html")

    assert declared.text == wrong.text == "却说 naïve"
    assert (declared.metadata, wrong.metadata) == ({"encoding": "gb18030"}, {})
