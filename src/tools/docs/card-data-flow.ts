import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where card data are in clear, for `deploy/compliance/card-data.md`: the parts of the code that have them, and every
 * way on which they move. Each file that has card data must be in a part, and each way must be in the code.
 */

/** A part of the code that has card data in clear, in the memory of a process. */
interface Part {
  readonly title: string;
  /** Files, and folders with a slash at the end. */
  readonly paths: readonly string[];
  readonly has: string;
}

const PARTS = {
  open: {
    title: 'Open blobs',
    paths: ['src/card/open-card-data.ts', 'src/kits/reader-kit/', 'readers/'],
    has: 'Both blobs of a tap, until it is read',
  },
  pay: {
    title: 'Use cases',
    paths: ['src/payments/taps/', 'src/payments/pins/', 'src/payments/refunds/', 'src/payments/reversals/'],
    has: 'Card, chip data and enciphered PIN, until the request is sent; the kept card of a reversal or refund',
  },
  vault: {
    title: 'Card vault',
    paths: ['src/card/card-vault.ts'],
    has: 'PAN, expiry date and repeated fields, while it seals or opens them; expiry dates of recent transactions',
  },
  handover: {
    title: 'Handover',
    paths: ['src/card/handover.ts', 'src/card/handover-envelope.ts'],
    has: 'Both blobs, while it seals them for a worker or opens them there',
  },
  message: {
    title: 'Messages',
    paths: ['processors/', 'src/kits/processor-kit/', 'src/codecs/iso8583/'],
    has: 'The fields of one message',
  },
  send: {
    title: 'Connections to switches',
    paths: ['src/switching/switches/', 'src/switching/connection/'],
    has: 'The bytes of messages under way, and the enciphered PIN with its PAN',
  },
  devices: {
    title: 'HSM calls',
    paths: ['src/hsm-devices/', 'src/codecs/crypto/', 'src/card/installation-keys.ts'],
    has: 'PAN and enciphered PIN block of a translation; the blob that a DUKPT key opens. A clear PIN is in an HSM only; in dev and qa the software HSM has it',
  },
  show: {
    title: 'Responses',
    paths: ['src/http/respond-to-phone.ts', 'src/http/transaction-view.ts', 'src/http/routes/transactions.ts'],
    has: 'The expiry date, without the PAN',
  },
  search: {
    title: 'Search of the console',
    paths: ['src/console/transaction-browser.ts'],
    has: 'A PAN that a person typed, until it is hashed',
  },
  read: {
    title: 'TLV and types',
    paths: ['src/codecs/emv/', 'src/payments/ports/'],
    has: 'Functions and interfaces of the other parts, without a state of their own',
  },
  compose: {
    title: 'Composition',
    paths: ['src/start/create-transaction-dependencies.ts', 'src/start/open-console.ts', 'src/jobs/pipeline.ts'],
    has: 'Nothing: passes the vault and the handover on to the use cases',
  },
  laboratory: {
    title: 'Laboratory',
    paths: ['src/tools/', 'src/card/sample-tap.ts'],
    has: 'Published test cards: simulated phones, switches and HSMs. A gateway in prod runs none of them',
  },
} as const satisfies Readonly<Record<string, Part>>;

const OUTSIDE = {
  phone: '([Phone with reader])',
  postgres: '[(Postgres)]',
  switch: '([Switch])',
  hsm: '([HSM])',
  person: '([Operator])',
  receivers: '([API, webhooks, console])',
} as const;

type Place = keyof typeof PARTS | keyof typeof OUTSIDE;

/** `clear`: only memory and TLS or a private line protect it. `sealed`: encrypted, or a keyed hash. */
type Form = 'clear' | 'sealed' | 'masked';

interface Way {
  readonly from: Place;
  readonly to: Place;
  readonly form: Form;
  /** Label in the diagram. */
  readonly what: string;
  readonly file: string;
  /** Code of this file that moves the data. */
  readonly code: string;
  readonly note: string;
}

const WAYS: readonly Way[] = [
  {
    from: 'phone',
    to: 'pay',
    form: 'sealed',
    what: 'blobs',
    file: 'src/http/routes/taps.ts',
    code: 'taps.submit(',
    note: 'Sealed by the reader for the installation, bound to device and reference; TLS around it',
  },
  {
    from: 'pay',
    to: 'open',
    form: 'sealed',
    what: 'blobs',
    file: 'src/payments/taps/read-tap.ts',
    code: 'cardData.open(',
    note: 'Only here are the blobs opened',
  },
  {
    from: 'open',
    to: 'pay',
    form: 'clear',
    what: 'card, chip data, PIN block',
    file: 'src/card/open-card-data.ts',
    code: 'Promise<OpenedTap>',
    note: 'The PIN block is enciphered under a key of the reader',
  },
  {
    from: 'open',
    to: 'devices',
    form: 'sealed',
    what: 'DUKPT blob',
    file: 'readers/dukpt/index.ts',
    code: 'keys.decipherDukpt(',
    note: 'Readers with DUKPT keys: the HSM opens the blob, and the clear blob returns',
  },
  {
    from: 'pay',
    to: 'handover',
    form: 'clear',
    what: 'blobs',
    file: 'src/payments/taps/attempts.ts',
    code: 'handover.seal(',
    note: 'If another process has the connection to the switch',
  },
  {
    from: 'handover',
    to: 'postgres',
    form: 'sealed',
    what: 'blobs',
    file: 'src/card/handover.ts',
    code: 'encryptOnce(',
    note: 'Under keys that exist only in the memory of workers, for at most an hour',
  },
  {
    from: 'handover',
    to: 'pay',
    form: 'clear',
    what: 'blobs',
    file: 'src/payments/taps/handovers.ts',
    code: 'OpenedTap | undefined',
    note: 'In the worker',
  },
  {
    from: 'pay',
    to: 'vault',
    form: 'clear',
    what: 'PAN, expiry, repeated fields',
    file: 'src/payments/taps/prepare-submission.ts',
    code: 'vault.seal(',
    note: 'No track, chip data or PIN',
  },
  {
    from: 'vault',
    to: 'postgres',
    form: 'sealed',
    what: 'card, hash',
    file: 'src/card/card-vault.ts',
    code: 'sealBytes(keys',
    note: 'AES-256-GCM, a key for each transaction; the PAN also as HMAC-SHA-256',
  },
  {
    from: 'vault',
    to: 'pay',
    form: 'clear',
    what: 'kept card',
    file: 'src/payments/reversals/reversals.ts',
    code: 'vault.open(',
    note: 'For a reversal, completion, refund or late response',
  },
  {
    from: 'pay',
    to: 'postgres',
    form: 'masked',
    what: 'masked PAN, allowed tags',
    file: 'src/payments/taps/read-tap.ts',
    code: 'maskPan(card.pan)',
    note: 'First six and last four digits; fewer of a short PAN',
  },
  {
    from: 'pay',
    to: 'send',
    form: 'clear',
    what: 'purchase',
    file: 'src/payments/taps/routes.ts',
    code: 'target.prepare(purchase)',
    note: 'In memory',
  },
  {
    from: 'send',
    to: 'message',
    form: 'clear',
    what: 'values',
    file: 'src/switching/switches/acquirer-switch.ts',
    code: '.authorization(purchase)',
    note: 'The processor type makes the message and reads responses',
  },
  {
    from: 'send',
    to: 'devices',
    form: 'clear',
    what: 'PAN, PIN block',
    file: 'src/switching/switches/translate-pin.ts',
    code: 'hsm.translatePin(',
    note: 'The PIN block stays enciphered; the PAN is in clear',
  },
  {
    from: 'devices',
    to: 'hsm',
    form: 'clear',
    what: 'commands',
    file: 'src/hsm-devices/payshield/payshield-hsm.ts',
    code: 'translatePin(',
    note: 'As before; TLS if the device has it (`devices[].tls`), always with AWS',
  },
  {
    from: 'send',
    to: 'switch',
    form: 'clear',
    what: 'ISO 8583',
    file: 'src/switching/connection/switch-socket.ts',
    code: 'tls.connect(',
    note: 'TLS 1.2 or newer if `tls` of the processor is set, otherwise a private line',
  },
  {
    from: 'send',
    to: 'postgres',
    form: 'masked',
    what: 'copies of messages',
    file: 'src/switching/switches/exchange.ts',
    code: '.mask(bytes',
    note: 'Masked before they are stored; kept for RETENTION_MESSAGE_DAYS',
  },
  {
    from: 'vault',
    to: 'show',
    form: 'clear',
    what: 'expiry date',
    file: 'src/http/transaction-view.ts',
    code: 'vault.expiryOf(',
    note: 'For responses and receipts',
  },
  {
    from: 'show',
    to: 'phone',
    form: 'masked',
    what: 'expiry, masked PAN',
    file: 'src/http/respond-to-phone.ts',
    code: 'maskedPAN:',
    note: 'And the tags of the issuer for the card (91, 71, 72, 8A)',
  },
  {
    from: 'person',
    to: 'search',
    form: 'clear',
    what: 'PAN',
    file: 'src/console/transaction-browser.ts',
    code: 'panHashes(pan)',
    note: 'In the body of a request, never in an address; only its keyed hash is searched',
  },
  {
    from: 'postgres',
    to: 'receivers',
    form: 'masked',
    what: 'masked PAN',
    file: 'src/http/transaction-view.ts',
    code: 'maskedPan',
    note: 'Nothing that is sent to a merchant, a log or a metric has more digits',
  },
];

/** People run commands beside the gateway, `tapwire decode` also on messages that they paste. */
const COMMANDS = 'src/cli';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A source file with its path from the root of the repository. */
export interface CodeFile {
  readonly path: string;
  readonly text: string;
}

/** Interfaces whose values contain card data, and functions that return them. */
export const CARRIERS: readonly string[] = [
  ...['OpenedTap', 'OpenedBlob', 'HandoverBlobs', 'OpenHandover', 'TlvValues', 'Card', 'Track2', 'ChipUse', 'KeptCard'],
  ...['CardVault', 'CardDataOpener', 'EnteredPin', 'PinData', 'EncipheredPin', 'TranslatePinRequest'],
  ...['VerifyPinRequest', 'PinRequest', 'SimulatedRequest', 'DukptDataRequest', 'CardDataHsm'],
  ...['Purchase', 'Refund', 'Reversal', 'OriginalData', 'IsoMessage'],
  ...['createCardVault', 'createCardDataOpener', 'openBlobs', 'readCard', 'parsePan', 'parseTrack2'],
];

const IMPORTED = /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'(?!#schemas)/gm;
const DECLARED = /^export\s+(?:abstract\s+)?(?:interface|type|class|(?:async\s+)?function)\s+(\w+)/gm;
const CARD_WORD = /\b(?:pan|track2|pinBlock|cardNumber)\b/i;
/** The vault of cards or the opener of blobs, from the dependencies of the use cases; webhooks have another vault. */
const OPENS = /\b(?:vault|cardData)\.open\(/;

/**
 * Whether the code of a file may have card data: it imports or declares a carrier, opens card data, or has a value with
 * the name of card data.
 */
export function mayHaveCardData({ text }: CodeFile): boolean {
  const imported = [...text.matchAll(IMPORTED)].flatMap(([, names]) => names!.match(/\w+/g) ?? []);
  const declared = [...text.matchAll(DECLARED)].map(([, name]) => name!);
  if ([...imported, ...declared].some((name) => CARRIERS.includes(name))) return true;
  const code = withoutCommentsAndStrings(text);
  return CARD_WORD.test(code) || (imported.includes('TransactionDependencies') && OPENS.test(code));
}

function withoutCommentsAndStrings(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(?<=^|\s)\/\/.*$/gm, '')
    .replaceAll(/'[^'\n]*'/g, "''");
}

/** The files that may have card data and are in no part of the diagram. */
export function outsideParts(files: readonly CodeFile[]): string[] {
  const known = Object.values(PARTS).flatMap<string>(({ paths }) => paths);
  return files
    .filter((file) => mayHaveCardData(file) && !known.some((path) => isIn(path, file.path)))
    .map(({ path }) => path);
}

function isIn(path: string, file: string): boolean {
  return path.endsWith('/') ? file.startsWith(path) : file === path;
}

/** Every source file of what runs. */
export function codeFiles(): CodeFile[] {
  return ['src', 'processors', 'readers'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .sort()
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  );
}

/**
 * The generated section of `deploy/compliance/card-data.md`.
 *
 * @throws Error if the code differs from the parts and ways above
 */
export function cardDataFlow(): string {
  const files = codeFiles();
  requireTrue(files);
  const never = [...new Set(files.map(({ path }) => path.split('/').slice(0, 2).join('/')))].filter(
    (folder) =>
      folder.startsWith('src/') &&
      folder !== COMMANDS &&
      !folder.endsWith('.ts') &&
      !files.some((file) => isIn(`${folder}/`, file.path) && mayHaveCardData(file)),
  );
  return [
    diagram(),
    table(['from', 'to', 'what', 'form', 'how', 'seen in'], WAYS.map(wayRow)),
    table(['part', 'code', 'has in clear'], Object.values(PARTS).map(partRow)),
    `No file in these folders has card data in clear: ${never.map((folder) => `\`${folder}\``).join(', ')}.`,
  ].join('\n\n');
}

function requireTrue(files: readonly CodeFile[]): void {
  const outside = outsideParts(files);
  if (outside.length > 0)
    throw new Error(`card-data-flow.ts: ${outside.join(', ')} may have card data, and no part contains it. Add it.`);
  for (const path of Object.values(PARTS).flatMap<string>(({ paths }) => paths)) {
    const isUsed = files.some((file) => isIn(path, file.path) && (mayHaveCardData(file) || isEvidence(file)));
    if (!isUsed) throw new Error(`card-data-flow.ts: no file in ${path} has card data. Remove it.`);
  }
  for (const { file, code } of WAYS) {
    const isThere = files.some(({ path, text }) => path === file && text.includes(code));
    if (!isThere) throw new Error(`card-data-flow.ts: ${file} has no ${code}. Correct the way that it shows.`);
  }
}

function isEvidence({ path }: CodeFile): boolean {
  return WAYS.some(({ file }) => file === path);
}

const ARROWS: Readonly<Record<Form, string>> = { clear: '==>', sealed: '-.->', masked: '-->' };

function diagram(): string {
  const isShown = (id: string) => WAYS.some(({ from, to }) => from === id || to === id);
  const parts = Object.entries(PARTS).filter(([id]) => isShown(id));
  return [
    '```mermaid',
    'flowchart LR',
    ...Object.entries(OUTSIDE).map(([id, shape]) => `  ${id}${shape}`),
    '  subgraph gateway [Memory of a gateway process]',
    ...parts.map(([id, { title }]) => `    ${id}[${title}]`),
    '  end',
    ...WAYS.map(({ from, to, what, form }) => `  ${from} ${ARROWS[form]}|${what}| ${to}`),
    '```',
  ].join('\n');
}

function titleOf(place: Place): string {
  return place in PARTS
    ? PARTS[place as keyof typeof PARTS].title
    : OUTSIDE[place as keyof typeof OUTSIDE].slice(2, -2);
}

const link = (path: string) => `[${path}](../../${path})`;

function wayRow({ from, to, what, form, note, file }: Way): string[] {
  return [titleOf(from), titleOf(to), what, form, note, `[${file.split('/').at(-1)}](../../${file})`];
}

function partRow({ title, paths, has }: Part): string[] {
  return [title, paths.map(link).join(', '), has];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
