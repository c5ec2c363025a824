// What the page does beyond HTML: it marks the quote that was jumped to, draws the graph, and opens
// what is folded before it is printed. Without it everything but the drawing is there.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);

  const markQuote = () => {
    const number = /^#c(\d+)$/.exec(location.hash)?.[1];
    for (const mark of document.querySelectorAll("mark")) {
      mark.classList.toggle("now", mark.dataset.numbers.split(" ").includes(number));
    }
  };
  addEventListener("hashchange", markQuote);
  markQuote();

  if (matchMedia("(max-width: 40rem)").matches) {
    for (const one of document.querySelectorAll("details.steps")) one.open = false;
  }
  const unfold = () => { // a link may lead to a step
    const one = location.hash && $(location.hash.slice(1))?.closest("details");
    if (one) one.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });

  if (!$("figure")) return;
  $("figure").hidden = false;
  $("undrawn").hidden = true;
  const elements = JSON.parse($("elements").textContent);

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
      } },
      { selector: "node.begins", style: { "background-color": colour("soft"), width: 28 * node, height: 28 * node, "font-weight": "bold" } },
      { selector: "node.chunk", style: { shape: "round-rectangle", width: 24 * node, height: 20 * node } },
      { selector: "node.cited", style: { "background-color": colour("mark-now") } },
      { selector: "node.document", style: { shape: "rectangle", "border-style": "dashed", width: 26 * node, height: 32 * node } },
      { selector: "edge", style: { width: 1.5, "line-color": colour("line"), "curve-style": "bezier" } },
      { selector: "edge.tie", style: { "line-style": "dotted", "line-color": colour("soft"), "line-opacity": 0.45 } },
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

  // A force-directed drawing that is the same each time: it begins on a spiral, not by chance.
  const nodes = elements.filter((one) => !one.data.source);
  nodes.forEach((node, place) => {
    const [angle, radius] = [place * 2.4, 40 * Math.sqrt(place + 1)];
    node.position = { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  const canvas = $("canvas");
  const touch = matchMedia("(pointer: coarse)").matches;
  cy = cytoscape({
    container: canvas, elements, style: styles(), minZoom: 0.1, maxZoom: 4,
    userZoomingEnabled: touch, // with a mouse the wheel scrolls the page
    layout: {
      name: "cose", randomize: false, animate: false, padding: 30, nodeDimensionsIncludeLabels: true, nodeRepulsion: (node) => (node.hasClass("document") ? 4000 : 60000),
      idealEdgeLength: (edge) => ({ way: 70, tie: 110, belongs: 30 })[edge.classes()[0]],
      edgeElasticity: (edge) => ({ way: 60, tie: 200, belongs: 40 })[edge.classes()[0]],
      gravity: 0.4, numIter: 1500,
    },
  });

  // As wide as the room that there is, as far as that does not distort it.
  const box = cy.nodes().boundingBox({ includeLabels: false });
  const stretch = Math.min(1.8, Math.max(0.6, (cy.width() / cy.height()) / (box.w / box.h) || 1));
  cy.nodes().positions((node) => ({ x: node.position("x") * stretch, y: node.position("y") }));

  const paint = () => cy.style(styles());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  matchMedia("print").addEventListener("change", paint);
  const fit = () => {
    cy.resize();
    for (const measure of [() => 1, () => Math.min(1.7, Math.max(1, 0.8 / cy.zoom()))]) {
      size = measure();
      paint();
      cy.fit(cy.elements(), 30);
    }
  };
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width !== innerWidth) fit(); // not where only the bars of a phone come and go
    width = innerWidth;
  });
  fit();

  // One finger scrolls the page, as everywhere; two move and zoom the drawing.
  const scroll = (event) => { if (event.touches.length === 1) event.stopPropagation(); };
  canvas.addEventListener("touchmove", scroll, { capture: true, passive: true });

  $("ties").addEventListener("change", (event) => cy.edges(".tie").toggleClass("off", !event.target.checked));
  $("path").addEventListener("change", (event) => {
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

  const words = $("description").dataset;
  const say = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const ends = (edge) => ({ ...edge.data(), source: edge.source().data("name"), target: edge.target().data("name") });
  const describe = {
    way: (edge) => say(words.way, ends(edge)),
    tie: (edge) => say(words.tie, ends(edge)),
    belongs: (edge) => say(words.belongs, ends(edge)),
    document: (node) => say(words.document, node.data()),
    element: (node) => say(words.element, node.data()) + visits(node),
    chunk: (node) => say(words.chunk, node.data()) + visits(node) + (node.hasClass("cited") ? words.cited : ""),
  };
  const visits = (node) => (node.data("paths").length ? say(words.visits, { paths: node.data("paths").join(", ") }) : "");
  cy.on("select", "node, edge", (event) => {
    const kind = Object.keys(describe).find((name) => event.target.hasClass(name));
    $("description").textContent = describe[kind](event.target);
  });
  canvas.dataset.drawn = String(cy.nodes().length);
})();
