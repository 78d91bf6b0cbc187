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
