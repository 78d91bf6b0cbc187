import { readFileSync } from 'node:fs';
import { type ServedFile, servedFile } from '../served-file.ts';
import { TEXTS } from './languages.ts';
import { schemaModules } from './schema-modules.ts';

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
