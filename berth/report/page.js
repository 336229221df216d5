
"use strict";
// The filter: shows the rows, bars and boxes that contain every word of the field, and opens what is folded around them.
(() => {
  const field = document.getElementById("filter");
  const count = document.getElementById("filter-count");
  const box = document.getElementById("filter-box");
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const groupOf = (element) => element.parentElement?.closest("[data-group]")?.dataset.group ?? "";

  // One item is shown or hidden as a whole. A line with lines under it is one item.
  const items = [];
  const add = (elements, text) => items.push({ elements, text: `${groupOf(elements[0])} ${text}`.toLowerCase() });
  for (const row of all("main .cards tbody tr")) add([row], row.textContent);
  for (const row of all("main .matrix tbody tr")) add([row], row.querySelector("th").textContent);
  for (const bar of all("main .bar.team")) add([bar], `${bar.closest("article").ariaLabel} ${bar.textContent}`);
  for (const lane of all("main .lane:not(.ticks)")) add([lane], lane.textContent);
  for (const leaf of all("main .outline li:not(:has(li))")) {
    const above = [];
    for (let at = leaf.parentElement.closest("li"); at; at = at.parentElement.closest("li"))
      above.push(at.querySelector("strong").textContent);
    add([leaf], `${above.join(" ")} ${leaf.textContent}`);
  }
  let last = null;
  for (const line of all("main .lines:not(.key-list) li")) {
    if (line.classList.contains("under") && last?.elements[0].parentElement === line.parentElement) {
      last.elements.push(line);
      last.text += ` ${line.textContent}`.toLowerCase();
    } else {
      add([line], line.textContent);
      last = items[items.length - 1];
    }
  }
  const holders = all("main details, main .part, main article, main .outline li, main .wide, main section").reverse();
  const holdersWithItems = holders.filter((holder) => items.some((item) => holder.contains(item.elements[0])));
  const openBefore = new Map(all("main details").map((details) => [details, details.open]));

  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set();
    for (const item of items) {
      const fits = words.every((word) => item.text.includes(word));
      for (const element of item.elements) element.hidden = !fits;
      if (fits) for (let at = item.elements[0]; at && !shown.has(at); at = at.parentElement) shown.add(at);
    }
    for (const holder of holdersWithItems) {
      holder.hidden = !shown.has(holder);
      if (holder.tagName === "DETAILS") holder.open = words.length ? shown.has(holder) : openBefore.get(holder);
    }
    for (const group of all(".quota-tree g")) {
      const fits = words.every((word) => group.textContent.toLowerCase().includes(word));
      group.classList.toggle("dim", !fits);
    }
    const fitting = items.filter((item) => !item.elements[0].hidden).length;
    count.textContent = words.length ? (fitting ? `${fitting} of ${items.length} entries` : "nothing matches") : "";
  };
  const remember = (event) => {
    if (!field.value) openBefore.set(event.target, event.target.open);
  };
  for (const details of openBefore.keys()) details.addEventListener("toggle", remember);
  field.addEventListener("input", apply);
  box.hidden = items.length === 0;

  // A region that is wider than the screen says so.
  const mark = () => {
    for (const region of all(".wide")) region.classList.toggle("scrolls", region.scrollWidth > region.clientWidth + 1);
  };
  addEventListener("resize", mark);
  document.addEventListener("toggle", mark, true);
  mark();
})();
