import { html, type Markup } from './html.ts';

/** Code, strong text, emphasis and links. */
const SPAN = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)/g;
/** Lines of the document that are markup themselves; the page shows their content always. */
const FOLD = /^<\/?details>$/;
const FOLD_TITLE = /^<summary>(.*)<\/summary>$/;

/**
 * Renders the Markdown that the texts of the API document use: paragraphs, tables, code, strong text, emphasis and
 * links.
 *
 * @param linkOf address that a piece of code refers to, if any
 */
export function markdown(text: string, linkOf: (code: string) => string | undefined = () => undefined): Markup {
  const blocks = text
    .split(/\n{2,}/)
    .flatMap((block) => block.split(/\n(?=<)|(?<=>)\n/))
    .map((block) => block.trim());
  return html`${blocks.filter((block) => block && !FOLD.test(block)).map((block) => blockOf(block, linkOf))}`;
}

/** Renders one line of Markdown, without a paragraph around it. */
export function inlineMarkdown(text: string, linkOf: (code: string) => string | undefined = () => undefined): Markup {
  const parts: (Markup | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(SPAN)) {
    const [whole, code, strong, emphasis, label, target] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) parts.push(linkedCode(code, linkOf(code)));
    else if (strong !== undefined) parts.push(html`<strong>${strong}</strong>`);
    else if (emphasis !== undefined) parts.push(html`<em>${emphasis}</em>`);
    else parts.push(html`<a href="${target!}">${label!}</a>`);
  }
  return html`${[...parts, text.slice(end)]}`;
}

function linkedCode(code: string, target: string | undefined): Markup {
  return target === undefined ? html`<code>${code}</code>` : html`<a href="${target}"><code>${code}</code></a>`;
}

function blockOf(block: string, linkOf: (code: string) => string | undefined): Markup {
  const title = FOLD_TITLE.exec(block)?.[1];
  if (title !== undefined) return html`<h2 id="${slugOf(title)}">${title}</h2>`;
  if (block.startsWith('|')) return tableOf(block.split('\n'), linkOf);
  return html`<p>${inlineMarkdown(block.replaceAll('\n', ' '), linkOf)}</p>`;
}

function tableOf([head, , ...rows]: readonly string[], linkOf: (code: string) => string | undefined): Markup {
  const cellsOf = (line: string) => line.slice(1, line.lastIndexOf('|')).split('|');
  const titles = cellsOf(head!).map((cell) => html`<th scope="col">${cell.trim()}</th>`);
  const body = rows.map(
    (line) => html`<tr>${cellsOf(line).map((cell) => html`<td>${inlineMarkdown(cell.trim(), linkOf)}</td>`)}</tr>`,
  );
  return html`<table><thead><tr>${titles}</tr></thead><tbody>${body}</tbody></table>`;
}

/** "Links and intents" -> links-and-intents */
export function slugOf(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}
