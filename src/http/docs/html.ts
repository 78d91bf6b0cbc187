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

/** Addresses that pieces of code and links refer to. */
interface Addresses {
  /** Of a piece of code, if it refers to anything. */
  readonly ofCode?: ((code: string) => string | undefined) | undefined;
  /** Of the target of a link; without one, the link is its text. By default, the target is the address. */
  readonly ofLink?: ((target: string) => string | undefined) | undefined;
}

/** Code, strong text, emphasis and links. */
const SPAN = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)/;
const FENCE = /^```(\w*)$/;
const HEADING = /^(#{2,4}) (.+)$/;
const ITEM = /^(\d+\.|-) +/;
/** Where a paragraph ends, besides an empty line. */
const OTHER_BLOCK = /^(```|#{2,4} |\||- |1\. |$)/;

/**
 * Renders the Markdown that the API document and the guides use: headings, paragraphs, lists, tables, blocks of code, and
 * code, strong text, emphasis and links in a line.
 */
export function markdown(text: string, addresses: Addresses = {}): Markup {
  const lines = text.split('\n');
  const blocks: Markup[] = [];
  /** Takes lines as long as they belong to the block. */
  const take = (belongs: (line: string) => boolean) => {
    const end = lines.findIndex((line) => !belongs(line));
    return lines.splice(0, end === -1 ? lines.length : end);
  };
  while (lines.length > 0) {
    const line = lines[0]!;
    const item = ITEM.exec(line);
    if (line.trim() === '') lines.shift();
    else if (FENCE.test(line)) blocks.push(codeOf(lines, take));
    else if (HEADING.test(line)) blocks.push(headingOf(lines.shift()!));
    else if (line.startsWith('|'))
      blocks.push(
        tableOf(
          take((each) => each.startsWith('|')),
          addresses,
        ),
      );
    else if (item)
      blocks.push(
        listOf(
          take((each) => ITEM.test(each) || /^( {2}|$)/.test(each)),
          item[1] !== '-',
          addresses,
        ),
      );
    else
      blocks.push(
        html`<p>${inlineMarkdown([lines.shift()!, ...take((each) => !OTHER_BLOCK.test(each))].join(' '), addresses)}</p>`,
      );
  }
  return html`${blocks}`;
}

/** Renders one line of Markdown, without a paragraph around it. */
export function inlineMarkdown(text: string, addresses: Addresses = {}): Markup {
  const match = SPAN.exec(text);
  if (match === null) return html`${text}`;
  const [whole, code, strong, emphasis, label, target] = match;
  const span =
    (code !== undefined && linked(html`<code>${code}</code>`, addresses.ofCode?.(code))) ||
    (strong !== undefined && html`<strong>${inlineMarkdown(strong, addresses)}</strong>`) ||
    (emphasis !== undefined && html`<em>${emphasis}</em>`) ||
    linked(html`${label}`, addresses.ofLink ? addresses.ofLink(target!) : target);
  return html`${text.slice(0, match.index)}${span}${inlineMarkdown(text.slice(match.index + whole.length), addresses)}`;
}

function linked(content: Markup, target: string | undefined): Markup {
  return target === undefined ? content : html`<a href="${target}">${content}</a>`;
}

function headingOf(line: string): Markup {
  const [, marks, text] = HEADING.exec(line)!;
  const level = String(marks!.length);
  return { markup: `<h${level} id="${slugOf(text!)}">${inlineMarkdown(text!).markup}</h${level}>` };
}

function codeOf(lines: string[], take: (belongs: (line: string) => boolean) => string[]): Markup {
  const [, language] = FENCE.exec(lines.shift()!)!;
  const text = take((each) => each !== '```').join('\n');
  lines.shift();
  return html`<figure class="code"><figcaption>${language!}</figcaption><pre><code>${text}</code></pre></figure>`;
}

function listOf(lines: readonly string[], isNumbered: boolean, addresses: Addresses): Markup {
  const items: string[][] = [];
  for (const line of lines) {
    if (ITEM.test(line)) items.push([line.replace(ITEM, '')]);
    else items.at(-1)!.push(line.replace(/^ {2,3}/, ''));
  }
  const content = items.map((item) => html`<li>${markdown(item.join('\n'), addresses)}</li>`);
  return isNumbered ? html`<ol>${content}</ol>` : html`<ul>${content}</ul>`;
}

function tableOf([head, , ...rows]: readonly string[], addresses: Addresses): Markup {
  const cellsOf = (line: string) => line.slice(1, line.lastIndexOf('|')).split('|');
  const titles = cellsOf(head!).map((cell) => html`<th scope="col">${cell.trim()}</th>`);
  const body = rows.map(
    (line) => html`<tr>${cellsOf(line).map((cell) => html`<td>${inlineMarkdown(cell.trim(), addresses)}</td>`)}</tr>`,
  );
  return html`<table><thead><tr>${titles}</tr></thead><tbody>${body}</tbody></table>`;
}

/** "Links and intents" -> links-and-intents */
export function slugOf(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}
