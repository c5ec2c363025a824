// What the page does beyond HTML: it marks the quote that was jumped to, and opens what is folded
// before it is printed.
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
})();
