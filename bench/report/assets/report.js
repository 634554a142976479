// Sorting and filtering of tables. Without it the pages show the same, in the paper's order.
"use strict";

const LONG = 12; // rows from which on a table has a filter

const keyOf = (row, column) => {
  const place = row.cells[column];
  const number = Number(place.dataset.sort ?? place.textContent.trim());
  return place.textContent.trim() !== "" && Number.isFinite(number) ? number : place.textContent.trim();
};

const compare = (a, b) => {
  if (a === "" || b === "") return (a === "") - (b === ""); // nothing comes last
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
};

function makeSortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return; // a button without a name tells a listener nothing
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
      rows.sort(([a], [b]) => (a === "" || b === "" || !falling ? compare(a, b) : compare(b, a)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

function makeFilter(table, number) {
  const rows = [...table.tBodies[0].rows];
  const box = document.createElement("div");
  const label = document.createElement("label");
  const field = document.createElement("input");
  const count = document.createElement("output");
  box.className = "filter";
  label.textContent = `Filter ${table.caption.textContent}`;
  label.htmlFor = field.id = `filter-${number}`;
  field.type = "search";
  count.setAttribute("aria-live", "polite");
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  field.addEventListener("input", show);
  box.append(label, field, count);
  table.closest(".scroll").before(box);
  show();
}

document.querySelectorAll("table.sortable").forEach((table, number) => {
  if (table.tBodies[0].rows.length > 1) makeSortable(table);
  if (table.tBodies[0].rows.length >= LONG) makeFilter(table, number);
});

document.querySelectorAll("main h2[id]:not(.unseen), main h3[id]").forEach((head) => {
  const link = document.createElement("a");
  link.className = "permalink";
  link.href = `#${head.id}`;
  link.textContent = "#";
  link.setAttribute("aria-label", `Link to ${head.textContent.trim()}`);
  head.append(" ", link);
});

function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const details = target && target.closest("details");
  if (details) { details.open = true; target.scrollIntoView(); }
  if (location.hash === "#cells") document.querySelector("#cells ~ details").open = true;
}
addEventListener("hashchange", openTarget);
addEventListener("hashchange", () => {
  document.querySelectorAll(":popover-open").forEach((open) => open.hidePopover());
});
openTarget();
