"""The report of a run: one HTML page that holds all it needs and sends no request.

The page is `page.html` (Jinja2), `page.css` and `page.js`; `cytoscape/` holds the drawing library.
"""
