"""A run as HTML: the report, one page that holds all it needs and sends no request.

`run.html` (Jinja2) has the sections of a run, which the page of `graphreader serve` shows as well,
`page.html` the report around them; `page.css`, `page.js`, `drawing.js` and `cytoscape/` serve both.
"""
