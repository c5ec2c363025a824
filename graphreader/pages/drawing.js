// Draws the graph in #canvas from the JSON in #elements, anew or with what has come since.
"use strict";

window.drawing = (() => {
  const $ = (id) => document.getElementById(id);
  const MANY = 300; // nodes for which forces take too long
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  let cy;
  let size = 1; // of signs and names: where little room makes the drawing small they stay readable
  const styles = () => {
    const computed = getComputedStyle(document.documentElement);
    const colour = (name) => computed.getPropertyValue(`--${name}`).trim();
    const node = Math.sqrt(size);
    const font = getComputedStyle(document.body).fontFamily;
    return [
      { selector: "node", style: {
        "background-color": colour("card"), "border-color": colour("soft"), "border-width": 1.5, width: 22 * node, height: 22 * node,
        label: "data(label)", color: colour("ink"), "font-family": font, "font-size": 11 * size, "text-valign": "bottom", "text-margin-y": 3,
        "text-wrap": "ellipsis", "text-max-width": (cy?.width() < 500 ? 80 : 130) * size, "text-background-color": colour("card"), "text-background-opacity": 0.75,
        "min-zoomed-font-size": 6,
      } },
      { selector: "node.begins", style: { "background-color": colour("soft"), width: 28 * node, height: 28 * node, "font-weight": "bold" } },
      { selector: "node.chunk", style: { shape: "round-rectangle", width: 24 * node, height: 20 * node } },
      { selector: "node.cited", style: { "background-color": colour("mark-now") } },
      { selector: "node.document", style: { shape: "rectangle", "border-style": "dashed", width: 26 * node, height: 32 * node } },
      { selector: "node.question", style: { shape: "diamond", "background-color": colour("accent"), "border-color": colour("accent"), width: 30 * node, height: 30 * node } },
      { selector: "edge", style: { width: 1.5, "line-color": colour("line"), "curve-style": cy?.nodes().length > MANY ? "haystack" : "bezier" } },
      { selector: "edge.tie, edge.spoke", style: { "line-style": "dotted", "line-color": colour("soft"), "line-opacity": 0.45 } },
      { selector: "edge.belongs", style: { "line-style": "dashed" } },
      ...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => ({ selector: `edge.way[colour = ${number}]`, style: {
        width: 2.5, "line-color": colour(`p${number}`), "target-arrow-color": colour(`p${number}`), "target-arrow-shape": "triangle",
        label: "data(path)", color: colour(`p${number}`), "font-family": font, "font-size": 10 * size, "font-weight": "bold",
        "text-background-color": colour("card"), "text-background-opacity": 1, "text-background-shape": "round-rectangle",
        "text-background-padding": 2,
      } })),
      { selector: ".faint", style: { opacity: 0.12 } },
      { selector: ".off", style: { display: "none" } },
      { selector: ":selected", style: { "border-color": colour("accent"), "border-width": 4, "line-opacity": 1, "z-index": 9 } },
      { selector: "edge.tie:selected", style: { width: 3, "line-color": colour("accent") } },
      { selector: ":active", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.15 } },
    ];
  };

  // Force-directed, and the same each time: new nodes begin on a spiral, not by chance. Too many for
  // that stay on it.
  const layout = (more) => (cy.nodes().length > MANY
    ? { name: "preset", animate: false, padding: 30, ...more }
    : {
      name: "cose", randomize: false, animate: false, padding: 30, nodeDimensionsIncludeLabels: true, nodeRepulsion: (node) => (node.hasClass("document") ? 4000 : 60000),
      idealEdgeLength: (edge) => ({ way: 70, tie: 110, belongs: 30 })[edge.classes()[0]],
      edgeElasticity: (edge) => ({ way: 60, tie: 200, belongs: 40 })[edge.classes()[0]],
      gravity: 0.4, numIter: 1500, ...more,
    });
  const spiral = (place, center) => {
    const [angle, radius] = [place * 2.4, 40 * Math.sqrt(place + 1)];
    return { x: center.x + radius * Math.cos(angle), y: center.y + radius * Math.sin(angle) };
  };
  const paint = () => cy.style(styles());
  const fit = () => {
    cy.resize();
    for (const measure of [() => 1, () => Math.min(1.7, Math.max(1, 0.8 / cy.zoom()))]) {
      size = measure();
      paint();
      cy.fit(cy.elements(), 30);
    }
  };

  const begin = (elements) => {
    const canvas = $("canvas");
    cy = cytoscape({
      container: canvas, elements, style: [], minZoom: 0.05, maxZoom: 4, layout: { name: "preset" },
      userZoomingEnabled: matchMedia("(pointer: coarse)").matches, // with a mouse the wheel scrolls the page
      hideEdgesOnViewport: elements.length > 2000, textureOnViewport: elements.length > 2000,
    });
    paint();
    cy.nodes().positions((_, place) => spiral(place, { x: 0, y: 0 }));
    cy.layout(layout()).run();
    // As wide as the room that there is, as far as that does not distort it.
    const box = cy.nodes().boundingBox({ includeLabels: false });
    const stretch = Math.min(1.8, Math.max(0.6, (cy.width() / cy.height()) / (box.w / box.h) || 1));
    cy.nodes().positions((node) => ({ x: node.position("x") * stretch, y: node.position("y") }));
    control(canvas);
    fit();
  };

  const update = (elements) => {
    const known = new Set(elements.map((one) => one.data.id));
    cy.remove(cy.elements().filter((one) => !known.has(one.id())));
    const added = elements.filter((one) => cy.getElementById(one.data.id).empty());
    for (const one of elements) cy.getElementById(one.data.id).data(one.data).classes(one.classes);
    if (!added.length) return;
    const fresh = cy.add(added).nodes();
    fresh.forEach((node, place) => {
      const near = node.neighborhood("node").not(fresh)[0];
      node.position(spiral(place, near ? near.position() : { x: 0, y: 0 }));
    });
    const run = cy.layout(layout(calm.matches ? {} : { animate: "end", animationDuration: 400 }));
    run.one("layoutstop", fit);
    run.run();
  };

  const control = (canvas) => {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    matchMedia("print").addEventListener("change", paint);
    let width = canvas.clientWidth;
    new ResizeObserver(() => {
      if (width !== canvas.clientWidth) fit();
      width = canvas.clientWidth;
    }).observe(canvas);
    // One finger scrolls the page, as everywhere; two move and zoom the drawing.
    const scroll = (event) => { if (event.touches.length === 1) event.stopPropagation(); };
    canvas.addEventListener("touchmove", scroll, { capture: true, passive: true });

    $("ties")?.addEventListener("change", (event) => cy.edges(".tie").toggleClass("off", !event.target.checked));
    $("path")?.addEventListener("change", (event) => {
      const path = Number(event.target.value);
      cy.elements().removeClass("faint");
      if (!path) return;
      const of = cy.elements().filter((one) => one.data("path") === path || one.data("paths")?.includes(path));
      const within = of.nodes().union(of.nodes().neighborhood("node.document"));
      cy.elements().not(of).not(within).not(within.edgesWith(within).not(".way")).addClass("faint");
    });

    const zoom = (factor) => cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    $("closer").addEventListener("click", () => zoom(1.3));
    $("farther").addEventListener("click", () => zoom(1 / 1.3));
    $("all").addEventListener("click", fit);
    const keys = {
      ArrowLeft: () => cy.panBy({ x: 40, y: 0 }), ArrowRight: () => cy.panBy({ x: -40, y: 0 }),
      ArrowUp: () => cy.panBy({ x: 0, y: 40 }), ArrowDown: () => cy.panBy({ x: 0, y: -40 }),
      "+": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit,
    };
    canvas.addEventListener("keydown", (event) => {
      if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        keys[event.key]();
        event.preventDefault();
      }
    });

    const say = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
    const ends = (edge) => ({ ...edge.data(), source: edge.source().data("name"), target: edge.target().data("name") });
    cy.on("select", "node, edge", (event) => {
      const one = event.target;
      const words = $("description").dataset; // in the language of the page
      const kind = Object.keys(words).find((name) => one.hasClass(name) && name !== "cited");
      const parts = [say(words[kind], one.isEdge() ? ends(one) : one.data())];
      if (one.data("paths")?.length && kind !== "question") parts.push(say(words.visits, { paths: one.data("paths").join(", ") }));
      if (one.hasClass("cited")) parts.push(words.cited);
      $("description").textContent = parts.join("");
      if (one.data("href")) {
        const link = document.createElement("a");
        link.href = one.data("href");
        link.textContent = words.open;
        $("description").append(" ", link);
      }
    });
  };

  const show = () => {
    if (!$("figure") || !$("elements")) return;
    $("figure").hidden = false;
    if ($("undrawn")) $("undrawn").hidden = true;
    const elements = JSON.parse($("elements").textContent);
    if (cy) update(elements);
    else begin(elements);
    $("canvas").dataset.drawn = String(cy.nodes().length);
  };
  show();
  return { show };
})();
