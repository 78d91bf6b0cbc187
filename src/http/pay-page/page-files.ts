import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { schemaModules } from './schema-modules.ts';

/** What a pay page is told when it is made. */
export interface PayPageSettings {
  /** The action of the Android intent that opens the payment app; without it the page shows a QR code alone. */
  readonly intentAction?: string | undefined;
  /** The package of that app: no other one then gets the token. */
  readonly intentPackage?: string | undefined;
  /** Whether a virtual phone stands beside it. */
  readonly hasVirtualPhone: boolean;
}

/** A file as it is sent. */
export interface PageFile {
  readonly text: string;
  readonly type: string;
  readonly entityTag: string;
}

export interface PageFiles {
  readonly page: PageFile;
  /** By the name that they have under `/pay/assets/`. */
  readonly assets: ReadonlyMap<string, PageFile>;
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
  'facts.js',
  'open-app.js',
  'icon.svg',
];
const OF_THE_PHONE = ['virtual-phone.css', 'virtual-phone.js', 'tap-session.js'];

/** Everything that a pay page consists of. Read once: it changes with a release. */
export function payPageFiles(settings: PayPageSettings): PageFiles {
  const names = settings.hasVirtualPhone ? [...OF_THE_PAGE, ...OF_THE_PHONE] : OF_THE_PAGE;
  const assets = new Map(names.map((name) => [name, fileOf(read(name), TYPES[name.split('.').at(-1)!]!)]));
  for (const [name, text] of schemaModules(settings.hasVirtualPhone)) assets.set(name, fileOf(text, TYPES.js!));
  return { page: fileOf(pageOf(settings), TYPES.html!), assets };
}

/** The settings come from the configuration, which lets no character through that would have to be escaped. */
function pageOf({ intentAction, intentPackage, hasVirtualPhone }: PayPageSettings): string {
  const meta = (name: string, content: string | undefined) =>
    content === undefined ? '' : `<meta name="${name}" content="${content}" />\n    `;
  const settings = meta('intent-action', intentAction) + meta('intent-package', intentPackage);
  return read('pay-page.html')
    .replace('<!-- settings -->', settings)
    .replace('<!-- virtual phone: parts -->', hasVirtualPhone ? read('virtual-phone-parts.html') : '')
    .replace('<!-- virtual phone -->', hasVirtualPhone ? read('virtual-phone.html') : '');
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

function fileOf(text: string, type: string): PageFile {
  return { text, type, entityTag: `"${hash('sha256', text, 'base64url')}"` };
}
