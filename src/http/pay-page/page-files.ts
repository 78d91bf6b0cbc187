import { readFileSync } from 'node:fs';
import { GENERAL_TAGS, READER_TAGS } from '#schemas/card-data';
import type { OperationName } from '#schemas/client';
import type { Operation } from '#schemas/operation';
import { OPERATIONS } from '#schemas/operations';
import { PAY_PAGE_OPERATIONS, VIRTUAL_READER_OPERATIONS } from '#schemas/pay-page';
import { type ServedFile, servedFile, withoutTypes } from '../static-files.ts';
import af from './texts/af.json' with { type: 'json' };
import de from './texts/de.json' with { type: 'json' };
import en from './texts/en.json' with { type: 'json' };
import es from './texts/es.json' with { type: 'json' };
import fr from './texts/fr.json' with { type: 'json' };
import pt from './texts/pt.json' with { type: 'json' };

export type PayPageTexts = typeof en;

/** The texts of a pay page by language. A file with another key than English does not compile. */
export const TEXTS: Readonly<Record<string, PayPageTexts>> = { en, af, de, es, fr, pt };

const BY_DEFAULT = 'en';

/** A language range with its weight (RFC 9110 12.5.4). */
const RANGE = /^([a-z]{1,8}|\*)(?:-[a-z0-9-]+)?(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

/** The language that suits `Accept-Language` best; English if none does, or if the header cannot be read. */
export function languageFor(acceptLanguage: string | undefined): string {
  const wanted = (acceptLanguage ?? '').split(',').flatMap((part) => {
    const [, language, weight = '1'] = RANGE.exec(part.trim()) ?? [];
    return language !== undefined && Number(weight) > 0
      ? [{ language: language.toLowerCase(), weight: Number(weight) }]
      : [];
  });
  // Sorting is stable, so of equal weights the first comes first.
  const known = wanted
    .sort((one, other) => other.weight - one.weight)
    .find(({ language }) => Object.hasOwn(TEXTS, language));
  return known?.language ?? BY_DEFAULT;
}

/** Operations that a payment app calls, and with it the virtual phone. */
const PHONE_OPERATIONS = [
  'getLinkDetails',
  'acknowledgeLink',
  'getCardDataKeys',
  'submitTap',
  'submitPin',
] as const satisfies readonly OperationName[];

/**
 * The modules of `schemas/` that a pay page uses, under their names there. The client and the reference sealer are
 * served unchanged except for their types, so that each page proves them in a browser. The page also gets the few
 * definitions that these two need of the schemas. Zod stays on the server: it is many times as large as a pay page.
 */
export function schemaModules(hasVirtualPhone: boolean): ReadonlyMap<string, string> {
  const ofThePhone = PHONE_OPERATIONS.map((name) => [name, OPERATIONS[name]] as const);
  const operations = {
    ...PAY_PAGE_OPERATIONS,
    ...(hasVirtualPhone && { ...VIRTUAL_READER_OPERATIONS, ...Object.fromEntries(ofThePhone) }),
  };
  const modules = new Map([
    ['client.ts', schemaModule('client')],
    ['operations.ts', operationWords(operations)],
  ]);
  if (!hasVirtualPhone) return modules;
  return modules.set('seal-card-data.ts', schemaModule('seal-card-data')).set('card-data.ts', cardDataWords());
}

function schemaModule(name: 'client' | 'seal-card-data'): string {
  return withoutTypes(new URL(`../../../schemas/${name}.ts`, import.meta.url));
}

/**
 * Replaces `./operations.ts` for the client. Page and gateway are of one release, so a response is not validated. It
 * is only distinguished from a response of an intermediary.
 */
function operationWords(operations: Readonly<Record<string, Operation>>): string {
  const rows = Object.entries(operations).map(([name, { method, path, shows, under, isIdempotent }]) => [
    name,
    { method, path, shows, under, isIdempotent },
  ]);
  return [
    `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(rows), undefined, 2)};`,
    'const response = { safeParse: (data) => ({ success: data instanceof Object, data }) };',
    'for (const operation of Object.values(OPERATIONS)) operation.response = response;',
    `export const problem = { safeParse: (data) => ({ success: typeof data?.errorCode === 'number', data }) };`,
    '',
  ].join('\n');
}

/** Replaces `./card-data.ts` for the sealer. */
function cardDataWords(): string {
  return [
    `export const READER_TAGS = ${JSON.stringify(READER_TAGS)};`,
    `export const GENERAL_TAGS = new Set(${JSON.stringify([...GENERAL_TAGS])});`,
    '',
  ].join('\n');
}

/** Settings of a pay page. */
export interface PayPageSettings {
  /** Action of the Android intent that opens the payment app. Without it the page shows only a QR code. */
  readonly intentAction?: string | undefined;
  /** Package name of that app; then no other app gets the token. */
  readonly intentPackage?: string | undefined;
  /** Whether a virtual phone is shown next to the page. */
  readonly hasVirtualPhone: boolean;
}

export interface PageFiles {
  /** Keyed by language. */
  readonly pages: ReadonlyMap<string, ServedFile>;
  /** Keyed by name under `/pay/assets/`. */
  readonly assets: ReadonlyMap<string, ServedFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const OF_THE_PAGE = [
  'pay-page.css',
  'pay-page.js',
  'link.js',
  'gateway.js',
  'phases.js',
  'texts.js',
  'amounts.js',
  'facts.js',
  'open-app.js',
  'icon.svg',
];
const OF_THE_PHONE = ['virtual-phone.css', 'virtual-phone.js', 'tap-session.js'];

/** Reads all files of a pay page, once: they change only with a release. */
export function payPageFiles(settings: PayPageSettings): PageFiles {
  const names = settings.hasVirtualPhone ? [...OF_THE_PAGE, ...OF_THE_PHONE] : OF_THE_PAGE;
  const assets = new Map(names.map((name) => [name, servedFile(read(name), TYPES[name.split('.').at(-1)!]!)]));
  for (const [name, text] of schemaModules(settings.hasVirtualPhone)) assets.set(name, servedFile(text, TYPES.js!));
  const pages = new Map<string, ServedFile>();
  for (const [language, texts] of Object.entries(TEXTS)) {
    assets.set(`texts-${language}.js`, servedFile(`export const texts = ${JSON.stringify(texts)};\n`, TYPES.js!));
    pages.set(language, servedFile(pageOf(settings, language), TYPES.html!));
  }
  return { pages, assets };
}

/** Neither the settings, which come from the configuration, nor the texts contain a character that needs escaping. */
function pageOf({ intentAction, intentPackage, hasVirtualPhone }: PayPageSettings, language: string): string {
  const words: Readonly<Record<string, string>> = { ...TEXTS[language]!.words, lang: language };
  const meta = (name: string, content: string | undefined) =>
    content === undefined ? '' : `<meta name="${name}" content="${content}" />\n    `;
  const settings = meta('intent-action', intentAction) + meta('intent-package', intentPackage);
  return read('pay-page.html')
    .replace('<html lang="en">', `<html lang="${language}">`)
    .replace('<!-- settings -->', settings)
    .replace('<!-- virtual phone: parts -->', hasVirtualPhone ? read('virtual-phone-parts.html') : '')
    .replace('<!-- virtual phone -->', hasVirtualPhone ? read('virtual-phone.html') : '')
    .replace(/%(\w+)%/g, (_, name: string) => words[name]!);
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
