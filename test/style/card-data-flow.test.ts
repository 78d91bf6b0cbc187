import { expect, test } from 'vitest';
import {
  CARRIERS,
  cardDataFlow,
  codeFiles,
  mayHaveCardData,
  outsideParts,
} from '../../src/tools/docs/card-data-flow.ts';
import { sourceFiles } from './source-files.ts';

const files = sourceFiles('src', 'processors', 'readers');

test('every file of the repository that may have card data is in a part of the diagram', () => {
  expect(codeFiles().map(({ path }) => path)).toEqual(expect.arrayContaining(files.map(({ path }) => path)));
  expect(files.filter(mayHaveCardData).length).toBeGreaterThan(80);
  expect(outsideParts(files)).toEqual([]);
});

test.each([
  ['imports a type with card data', `import type { KeptCard } from '../payments/ports/switch-ports.ts';`],
  [
    'imports one of several names on several lines',
    `import {\n  type Clock,\n  type OpenedTap,\n} from '../ports.ts';`,
  ],
  ['passes on such a type', `export type { Purchase } from './purchase.ts';`],
  ['declares such a type', 'export interface KeptCard {\n  readonly x: string;\n}'],
  ['has a value named after a card number', 'export const bodyOf = ({ pan }: Row) => ({ number: pan });'],
  ['reads a track', 'send(row.track2);'],
  [
    'opens the card of a transaction',
    `import type { TransactionDependencies } from './x.ts';\ndeps.vault.open(id, bytes);`,
  ],
])('a new file that %s is reported', (_what, text) => {
  expect(outsideParts([{ path: 'src/webhooks/planted.ts', text }])).toEqual(['src/webhooks/planted.ts']);
});

test.each([
  ['names card data in a comment or a message', `/** The PAN. */\nthrow new Error('the pan is missing'); // pan`],
  ['has its own vault', `import { createSecretVault } from './x.ts';\nvault.open(id, sealed);`],
  ['takes a body whose schema has the name', `import type { Card } from '#schemas/pay-page';`],
])('a file that %s is not', (_what, text) => {
  expect(outsideParts([{ path: 'src/webhooks/planted.ts', text }])).toEqual([]);
});

test('each type with a member for card data counts, and each counted name exists', () => {
  const members = /^\s+(?:readonly )?(?:pan|track2|pinBlock)\??: /m;
  const declarations = files
    .filter(({ path }) => !path.startsWith('src/tools/') && path !== 'src/card/sample-tap.ts')
    .flatMap(({ text }) => [...text.matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)]);
  const withCardData = declarations.filter(([, , body]) => members.test(body!)).map(([, name]) => name);
  expect(withCardData).toContain('KeptCard');
  expect(CARRIERS).toEqual(expect.arrayContaining(withCardData));
  const exported = new Set(
    files.flatMap(({ text }) =>
      [...text.matchAll(/^export (?:async )?(?:interface|type|class|function|const) (\w+)/gm)].map(([, name]) => name!),
    ),
  );
  expect(CARRIERS.filter((name) => !exported.has(name))).toEqual([]);
});

test('the page shows each way of card data in the diagram and with its code', () => {
  const page = cardDataFlow();
  const arrows = [...page.matchAll(/^ {2}\w+ (?:==>|-\.->|-->)\|/gm)];
  const rows = [...page.matchAll(/^\| .* \| (?:clear|sealed|masked) \| .*\]\(\.\.\/\.\.\/.*\) \|$/gm)];
  expect(rows.length).toBe(arrows.length);
  expect(rows.length).toBeGreaterThan(15);
  expect(page).not.toMatch(/No file in these folders has card data in clear:.*`src\/(?:card|payments|switching)`/);
});
