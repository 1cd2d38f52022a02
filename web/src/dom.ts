// Small helpers for the page's elements. Text from the data is only ever set as text.

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  attributes: Record<string, string> = {},
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Set text only where it is another, so that nothing flickers and selections stay.
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function table(head: string[], rows: (string | Node)[][]): HTMLTableElement {
  const out = make("table");
  const top = make("tr");
  for (const name of head) top.append(make("th", name, { scope: "col" }));
  const body = make("tbody");
  for (const cells of rows) {
    const row = make("tr");
    for (const cell of cells) {
      const td = make("td");
      td.append(cell);
      row.append(td);
    }
    body.append(row);
  }
  const thead = make("thead");
  thead.append(top);
  out.append(thead, body);
  return out;
}
