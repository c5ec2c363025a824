"""The report of a run: one HTML page that holds all it needs and asks no network for anything.

    page       the page as a text, out of a reading and what the graph knows of it
    citing     the answer with its numbers; the passages with what is quoted of them
    timeline   the paths, a lane a path
    drawing    the graph of what was touched, for cytoscape.js and in words
    spending   what it cost, phase by phase and path by path
    foreign    texts of others: harmless, and in their language
    writing    the file that it goes into

The page is `page.html` (Jinja2), `page.css` and `page.js`; `cytoscape/` holds the drawing library.
"""
