/**
 * A row of a description list: `<div><dt>name</dt><dd>value</dd></div>`.
 *
 * @param {string} name
 * @param {string} value
 */
export function factOf(name, value) {
  const row = document.createElement('div');
  const term = document.createElement('dt');
  const description = document.createElement('dd');
  term.textContent = name;
  description.textContent = value;
  row.append(term, description);
  return row;
}
