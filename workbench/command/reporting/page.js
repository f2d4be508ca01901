"use strict";
// A table is sorted by a button in each heading: Tab reaches a button, Enter or Space presses it, again reverses.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const said = table.closest("section").querySelector("[aria-live]");
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const rising = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows];
      const numbers = rows.every((row) => key(row) === "" || !Number.isNaN(Number(key(row))));
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === ""); // cells without a value come last
        const order = numbers ? Number(x) - Number(y) : x.localeCompare(y);
        return rising ? order : -order;
      };
      rows.sort(compare).forEach((row) => table.tBodies[0].append(row));
      if (said) said.textContent = `Sorted by ${heading.textContent.trim()}, ${rising ? "ascending" : "descending"}.`;
    });
  });
}
