// What the pages do beyond HTML: they ask, send files, and show what happens as it happens.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement.dataset.root;

  const tell = (text) => {
    $("message").textContent = text;
    $("message").hidden = !text;
  };
  addEventListener("click", (event) => { if (event.target === $("message")) tell(""); });

  // A request to the HTTP interface; a refusal is told in its own sentence.
  const request = async (method, address, options = {}) => {
    tell("");
    let response;
    try {
      response = await fetch(address, { method, ...options });
    } catch {
      tell("The server does not answer: is it still running? Nothing was lost, try again.");
      return null;
    }
    if (response.status === 401) location.assign(`${root}/login`);
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      tell(problem.detail ?? `The server answers ${response.status}.`);
      return null;
    }
    return response;
  };

  // Buttons that act, and ask before something is lost.
  addEventListener("click", async (event) => {
    const button = event.target.closest("[data-post], [data-delete]");
    if (!button) return;
    const { post, delete: gone, confirm: question, then } = button.dataset;
    if (question && !confirm(question)) return;
    button.disabled = true;
    if (await request(gone ? "DELETE" : "POST", gone ?? post)) {
      if (then) location.assign(then);
      else if (gone || then === "") location.reload();
    }
    button.disabled = false;
  });

  for (const form of document.querySelectorAll("form[data-ask]")) {
    const box = form.elements.question;
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!box.value.trim() || form.ariaBusy === "true") return;
      form.ariaBusy = "true";
      const [how] = form.elements.reader.selectedOptions;
      const reader = { [how.dataset.field ?? "reader"]: how.value };
      const limits = form.elements.scope;
      const scope = limits.value === limits.defaultValue ? undefined : limits.value.split("\n").filter((one) => one.trim());
      const body = JSON.stringify({ question: box.value, ...reader, follow: form.dataset.follow, scope });
      const headers = { "Content-Type": "application/json", Prefer: "respond-async" };
      const response = await request("POST", form.dataset.ask, { headers, body });
      form.ariaBusy = "false";
      if (response) location.assign(`${root}/runs/${(await response.json()).run}`);
    });
  }

  // A follow-up question has the scope of the run unless it is given another one.
  const inherit = () => {
    const limits = $("follow")?.querySelector("[name=scope]");
    if (!limits) return;
    limits.value = limits.defaultValue = $("limits")?.dataset.scope ?? "";
    limits.closest("details").open = limits.value !== "";
  };
  inherit();

  // A part of the page that is sent anew whenever it has changed. What a person has folded,
  // focused or selected stays so.
  const keep = {
    beforeNodeMorphed: (node, fresh) => {
      if (node.id === "figure") $("path").append(...[...fresh.querySelectorAll("#path option")].slice($("path").length));
      return node.id !== "figure" && node.id !== "undrawn";
    },
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
  };
  const follow = (part) => {
    part.source?.close();
    const source = part.source = new EventSource(part.dataset.live);
    let over = false;
    const again = async () => (await request("GET", location.href) ? follow(part) : setTimeout(again, 3000));
    source.addEventListener("part", (event) => {
      tell("");
      if (window.Idiomorph) Idiomorph.morph(part, event.data, { morphStyle: "innerHTML", callbacks: keep });
      else part.innerHTML = event.data;
      window.drawing?.show();
    });
    source.addEventListener("over", async () => {
      over = true;
      source.close();
      inherit();
      if ($("follow")) $("follow").hidden = !part.querySelector(".status.finished:not(.unkept)");
      if ($("documents")) await reloadDocuments();
    });
    source.addEventListener("error", () => {
      if (!over && source.readyState !== EventSource.OPEN) tell("The server does not answer at the moment; this page goes on as soon as it does.");
      if (!over && source.readyState === EventSource.CLOSED) setTimeout(again, 3000);
    });
  };
  for (const part of document.querySelectorAll("[data-live]")) if (part.dataset.active) follow(part);

  // A part that takes longer than the rest of the page.
  for (const part of document.querySelectorAll("[data-load]")) {
    fetch(part.dataset.load).then(async (response) => { if (response.ok) part.innerHTML = await response.text(); }, () => {});
  }

  const reloadDocuments = async () => {
    const response = await request("GET", location.href);
    if (!response) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    $("documents").replaceWith(page.getElementById("documents"));
  };

  // Files and folders, chosen or dropped; large ones are sent as a stream.
  const upload = $("upload");
  if (upload) {
    const ocr = () => $("ocr").checked ? "?ocr=true" : "";
    const isKnown = ([path]) => {
      const suffixes = upload.dataset.known + (ocr() && `,${$("ocr").dataset.pictures}`);
      return suffixes.split(",").some((one) => path.toLowerCase().endsWith(one));
    };
    const form = (files) => {
      const data = new FormData();
      for (const [path, file] of files) data.append("files", file, path);
      return data;
    };
    // With the box ticked the texts are shown first, with a button that reads them in.
    const send = async (files) => {
      if (!files.length) return;
      if (!$("first").checked) return readIn(files);
      const shown = $("preview");
      shown.textContent = "Reading the files ...";
      const response = await request("POST", upload.dataset.preview + ocr(), { body: form(files) });
      shown.innerHTML = response ? await response.text() : "";
      shown.querySelector("[data-read-in]")?.addEventListener("click", () => { shown.textContent = ""; readIn(files); });
      shown.querySelector("[data-close]")?.addEventListener("click", () => { shown.textContent = ""; });
      shown.querySelector("h2")?.focus();
    };
    const readIn = (files) => {
      tell("");
      const bar = $("sending");
      const sending = new XMLHttpRequest();
      sending.upload.addEventListener("progress", (event) => { bar.value = event.loaded / event.total; });
      sending.addEventListener("loadend", () => {
        bar.hidden = true;
        if (sending.status === 202) follow($("jobs"));
        else {
          let problem = {};
          try { problem = JSON.parse(sending.responseText); } catch { /* no answer, or none of ours */ }
          tell(problem.detail ?? "The files could not be sent: is the server still running?");
        }
      });
      bar.hidden = false;
      bar.value = 0;
      sending.open("POST", upload.dataset.upload + ocr());
      sending.send(form(files));
    };
    for (const input of upload.querySelectorAll("input[type=file]")) {
      input.addEventListener("change", () => {
        const all = [...input.files].map((file) => [file.webkitRelativePath || file.name, file]);
        const readable = all.filter(isKnown);
        send(readable);
        if (readable.length < all.length) tell(`${all.length - readable.length} of ${all.length} files are of no known format and were left out.`);
        input.value = "";
      });
    }
    const entries = async (entry) => {
      if (entry.isFile) {
        const file = await new Promise((done, failed) => entry.file(done, failed));
        return [[entry.fullPath.slice(1), file]];
      }
      const reader = entry.createReader();
      const found = [];
      for (;;) {
        const some = await new Promise((done, failed) => reader.readEntries(done, failed));
        if (!some.length) return (await Promise.all(found.map(entries))).flat();
        found.push(...some);
      }
    };
    const stop = (event) => { event.preventDefault(); upload.classList.toggle("over", event.type === "dragover"); };
    for (const name of ["dragover", "dragleave", "drop"]) addEventListener(name, stop);
    addEventListener("drop", async (event) => {
      const dropped = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
      const all = (await Promise.all(dropped.map(entries))).flat();
      const readable = all.filter(isKnown);
      send(readable);
      if (readable.length < all.length) tell(`${all.length - readable.length} of ${all.length} files are of no known format and were left out.`);
    });
  }

  for (const one of document.querySelectorAll("time")) one.textContent = new Date(one.dateTime).toLocaleString();
  document.querySelector("mark#quote")?.scrollIntoView({ block: "center" });
})();
