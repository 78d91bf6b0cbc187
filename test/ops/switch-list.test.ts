import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMapping, readSwitchList } from '../../src/tools/ledger/switch-list.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-list-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const MAPPING = {
  processor: 'type-1',
  columns: {
    stan: 'STAN',
    rrn: 'RRN',
    tid: 'TID',
    amount: 'Amount',
    currency: 'Ccy',
    approvedAt: 'Time',
    kind: 'Kind',
    state: 'State',
  },
  amountsIn: 'major',
  refunds: ['Credit'],
  reversed: ['REV'],
  ignored: ['DECL'],
};
const HEADER = 'Time,TID,STAN,RRN,"Amount",Ccy,Kind,State';

function write(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function read(lines: readonly string[], mapping: object = MAPPING) {
  const path = write('list.csv', lines.join('\r\n'));
  return Array.fromAsync(readSwitchList(path, readMapping(write('mapping.json', JSON.stringify(mapping)))));
}

test('a list becomes entries of a ledger, by the names of its columns', async () => {
  const entries = await read([
    `\uFEFF${HEADER}`,
    '2026-11-20T10:00:00Z,TW000001,17,632410000017,1000.50,ZAR,"Debit, ""chip""",OK',
    '',
    '2026-11-20T10:00:01+02:00,TW000001,000018,632410000018,"20",392,Credit,REV',
    '2026-11-20T10:00:02Z,TW000001,000019,632410000019,1.00,ZAR,Debit,DECL',
  ]);
  expect(entries).toEqual([
    {
      processor: 'type-1',
      key: 'TW000001 632410000017',
      kind: 'sale',
      stan: '000017',
      rrn: '632410000017',
      tid: 'TW000001',
      currencyNumeric: '710',
      amountMinor: 100_050,
      approvedMinor: 100_050,
      approvedAtMs: Date.parse('2026-11-20T10:00:00Z'),
      state: 'approved',
    },
    expect.objectContaining({ kind: 'refund', state: 'reversed', currencyNumeric: '392', amountMinor: 20 }),
  ]);
});

test.each([
  ['Amount', 'ten'],
  ['Ccy', 'XXZ'],
  ['Time', 'today'],
  ['Time', '2026-11-20T10:00:00'],
  ['STAN', '1234567'],
  ['STAN', '12345a'],
  ['RRN', 'none'],
  ['TID', ''],
])('a line whose column %s cannot be read (%s) is named, without its value', async (column, value) => {
  const fields = {
    Time: '2026-11-20T10:00:00Z',
    TID: 'T',
    STAN: '1',
    RRN: '1',
    Amount: '1.00',
    Ccy: 'ZAR',
    Kind: '',
    State: '',
  };
  const line = Object.values({ ...fields, [column]: value }).join(',');
  await expect(read([HEADER, line])).rejects.toThrow(new RegExp(`line 2: the column ${column} cannot be read\\.$`));
});

test('a list without a column that the mapping names is refused', async () => {
  await expect(read(['Time,TID'])).rejects.toThrow('has no column STAN');
});

test('a mapping with an unknown setting is refused', async () => {
  await expect(read([HEADER], { ...MAPPING, columnes: {} })).rejects.toThrow('is not a mapping');
});
