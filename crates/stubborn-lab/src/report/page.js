"use strict";
(() => {
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const isDark = () => {
    const theme = root.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  if (stored()) root.dataset.theme = stored();
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a private window */ }
  });

  // Sorting: numbers by data-v, words by text; cells without a figure come last.
  const value = (cell) => (cell.dataset.v === undefined ? null : Number(cell.dataset.v));
  const sort = (header) => {
    const table = header.closest("table");
    const at = header.cellIndex;
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    const numeric = rows.some((row) => value(row.cells[at]) !== null);
    const sign = down ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [a.cells[at], b.cells[at]];
      if (!numeric) return sign * x.textContent.localeCompare(y.textContent, "en", { numeric: true });
      const [v, w] = [value(x), value(y)];
      if (v === null || w === null) return (v === null) - (w === null);
      return sign * (v - w);
    });
    table.tBodies[0].append(...rows);
  };
  for (const header of document.querySelectorAll("th")) {
    header.tabIndex = 0;
    header.addEventListener("click", () => sort(header));
    header.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(header); }
    });
  }

  for (const box of document.querySelectorAll("input[type=search]")) {
    box.addEventListener("input", () => {
      const wanted = box.value.toLowerCase();
      const rows = document.getElementById(box.dataset.table).tBodies[0].rows;
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
  for (const button of document.querySelectorAll("button[data-worse]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", on);
      const rows = document.getElementById(button.dataset.worse).tBodies[0].rows;
      for (const row of rows) row.hidden = on && !row.querySelector(".worse");
    });
  }
})();
