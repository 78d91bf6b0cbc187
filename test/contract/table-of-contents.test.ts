import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ENDPOINTS, RESOURCES } from './interface-tables.ts';

const TESTS = new URL('../', import.meta.url);
const readme = readFileSync(new URL('README.md', TESTS), 'utf8');

/** The rows of "The interface, row by row". */
const rows = [...readme.matchAll(/^\| (\d(?:\.\d+)?) \| ([^|]+) \| ([^|]+) \|$/gm)].map(([, section, what, tests]) => ({
  section: section!,
  what: what!.trim(),
  files: [...tests!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!),
}));

/** The interface's table of contents. */
const SECTIONS = [
  ...numbered(2, 14),
  ...numbered(3, 4),
  ...numbered(4, 19),
  '5',
  ...numbered(6, 3),
  ...numbered(7, 5),
  '8',
  '9',
];

function numbered(chapter: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${chapter}.${at + 1}`);
}

describe('the table of contents in test/README.md', () => {
  test('has a row for every section of the interface, in its order', () => {
    expect(rows.map(({ section }) => section)).toEqual(SECTIONS);
  });

  test.each(rows)('$section: each file exists', ({ files }) => {
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(new URL(file, TESTS)))).toEqual([]);
  });

  test.each(rows)('$section: a file mentions it', ({ section, files }) => {
    const texts = files.map((file) => readFileSync(new URL(file, TESTS), 'utf8')).join('\n');
    const words = WORDS[section] ?? addressesOf(section);
    expect(words.length, 'there is something to look for').toBeGreaterThan(0);
    for (const word of words) expect(texts.includes(word), word).toBe(true);
  });
});

/** The first part of an endpoint's path, before any parameter. */
function addressesOf(section: string): string[] {
  const calls = ENDPOINTS.filter((endpoint) => endpoint.section === section).map(({ call }) => call.split(' ')[1]!);
  return [
    ...new Set(
      calls.map(
        (path) =>
          path
            .split('/')
            .filter((part) => part && !part.startsWith('{'))
            .at(-1)!,
      ),
    ),
  ];
}

/** Words that a test of a section contains if the section is not an endpoint. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.keys(RESOURCES).map((section) => [section, []])),
  '2.1': ['transactionstatusId'],
  '2.2': ['receiptData'],
  '2.3': ['qrCodeState'],
  '2.4': ['tt3QRCode'],
  '2.5': ['taponown'],
  '2.6': ['serviceReference'],
  '2.7': ['callbackUrl'],
  '2.8': ['/consumer/applink'],
  '2.9': ['/consumer/intentTransaction'],
  '2.10': ['intentSessionToken'],
  '2.11': ['jwtId'],
  '2.12': ['2.12'],
  '2.13': ['softposconfigs'],
  '2.14': ['friendlyName'],
  '3.1': ['DISPOSITION_TEXTS'],
  '3.2': ['QR_CODE_STATE_TEXTS'],
  '3.3': ['STATUSES'],
  '3.4': ['409'],
  '4.4': ['generalCardData'],
  '4.5': ['pinToken'],
  '4.17': ['softposconfigs'],
  '4.19': ['result_transaction_type'],
  '5': ['x-api-key', 'authorization'],
  '6.1': ['webhook'],
  '6.2': ['configJwt'],
  '6.3': ['readIntentResult'],
  '7.1': ['x-tid', 'mbn', 'mcc'],
  '7.2': ['415', '413', '409'],
  '7.3': ['405', '404'],
  '7.4': ['ERROR_ROWS'],
  '7.5': ['RESPONSE_CODE_ROWS'],
  '8': ['maxLength'],
  '9': ['api-version'],
};
