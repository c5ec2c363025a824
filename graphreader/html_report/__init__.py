"""The HTML report of a run: one page that holds all it needs and sends no request.

`page.html` (Jinja2), `page.css` and `page.js` are the page, `cytoscape/` the drawing library.
"""
