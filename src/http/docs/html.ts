import { escapeHtml } from '../../codecs/bytes/escape-html.ts';

/** Text that is already markup. Everything else that `html` is given is escaped. */
export interface Markup {
  readonly markup: string;
}

type Part = Markup | string | number | false | undefined | readonly Part[];

/** Builds markup from a template and escapes each value that is not markup. `false` and undefined add nothing. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { markup: texts.reduce((made, text, at) => made + markupOf(parts[at - 1]) + text) };
}

function markupOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  if ('markup' in part) return part.markup;
  return part.map(markupOf).join('');
}

/** Address that a piece of code refers to, if any. */
type LinkOf = (code: string) => string | undefined;

/** Code, strong text, emphasis and links. */
const SPAN = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)/;
/** Lines of the document that are markup themselves; the page shows their content always. */
const FOLD = /^<\/?details>$/;
const FOLD_TITLE = /^<summary>(.*)<\/summary>$/;

/**
 * Renders the Markdown that the texts of the API document use: paragraphs, tables, code, strong text, emphasis and
 * links.
 */
export function markdown(text: string, linkOf: LinkOf = () => undefined): Markup {
  const blocks = text
    .split(/\n{2,}/)
    .flatMap((block) => block.split(/\n(?=<)|(?<=>)\n/))
    .map((block) => block.trim());
  return html`${blocks.filter((block) => block && !FOLD.test(block)).map((block) => blockOf(block, linkOf))}`;
}

/** Renders one line of Markdown, without a paragraph around it. */
export function inlineMarkdown(text: string, linkOf: LinkOf = () => undefined): Markup {
  const match = SPAN.exec(text);
  if (match === null) return html`${text}`;
  const [whole, code, strong, emphasis, label, target] = match;
  const span =
    (code !== undefined && linkedCode(code, linkOf(code))) ||
    (strong !== undefined && html`<strong>${strong}</strong>`) ||
    (emphasis !== undefined && html`<em>${emphasis}</em>`) ||
    html`<a href="${target}">${label}</a>`;
  return html`${text.slice(0, match.index)}${span}${inlineMarkdown(text.slice(match.index + whole.length), linkOf)}`;
}

function linkedCode(code: string, target: string | undefined): Markup {
  return target === undefined ? html`<code>${code}</code>` : html`<a href="${target}"><code>${code}</code></a>`;
}

function blockOf(block: string, linkOf: LinkOf): Markup {
  const title = FOLD_TITLE.exec(block)?.[1];
  if (title !== undefined) return html`<h2 id="${slugOf(title)}">${title}</h2>`;
  if (block.startsWith('|')) return tableOf(block.split('\n'), linkOf);
  return html`<p>${inlineMarkdown(block.replaceAll('\n', ' '), linkOf)}</p>`;
}

function tableOf([head, , ...rows]: readonly string[], linkOf: LinkOf): Markup {
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
