import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../../schemas/', import.meta.url);

/** The documents of `schemas/` that are pages, too, by the last segment of their path. */
const FILES = { 'accept-payments': 'INTEGRATORS.md', 'submit-a-tap': 'READERS.md', glossary: 'GLOSSARY.md' };

export interface Guide {
  readonly path: string;
  readonly title: string;
  /** Markdown without the title. */
  readonly text: string;
}

/** By the last segment of their path, in the order of the contents. */
export const GUIDES: ReadonlyMap<string, Guide> = new Map(
  Object.entries(FILES).map(([key, file]) => {
    const [, title, text] = /^# (.+)\n([\s\S]+)$/.exec(readFileSync(new URL(file, FOLDER), 'utf8'))!;
    return [key, { path: pathOfGuide(key), title: title!, text: text! }];
  }),
);

/** Sections of `README.md` that are on the page of codes. */
const CODES: Readonly<Record<string, string>> = {
  'error-codes': 'error-codes',
  'iso-8583-response-codes': 'response-codes',
};

function pathOfGuide(key: string): string {
  return `/docs/guides/${key}`;
}

/** The address of what a document links to; undefined for a file that only the repository has. */
export function targetOfLink(target: string): string | undefined {
  if (/^(#|\/|https?:)/.test(target)) return target;
  const [file, section = ''] = target.split('#');
  if (file === 'README.md' && section in CODES) return `/docs/errors#${CODES[section]}`;
  const key = Object.entries(FILES).find(([, name]) => name === file)?.[0];
  return key && `${pathOfGuide(key)}${section && `#${section}`}`;
}
