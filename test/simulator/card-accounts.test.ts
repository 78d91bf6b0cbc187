import { afterEach, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type { TestCard } from '../../src/tools/simulator/card-accounts.ts';
import { Ledger } from '../../src/tools/simulator/ledger.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

const VISA = '4111111111111111';

let simulator: Simulator;
let acquirer: Acquirer;
afterEach(async () => {
  acquirer.pool.destroy();
  await simulator.close();
});

async function open(card: Partial<TestCard>) {
  const config = (port: number) => ({
    ...type1.exampleConfig,
    addresses: [{ host: '127.0.0.1', port }],
    profile: { partialApproval: true },
  });
  simulator = await startSimulator({
    processors: [{ processor: type1, config: config(1), port: 0 }],
    cards: [{ pan: VISA, currency: 'ZAR', balance: '25.00', ...card }],
    ledgerPort: 0,
  });
  acquirer = new Acquirer(type1, config(simulator.ports[0]!));
}

const account = async () => {
  const response = await fetch(`http://127.0.0.1:${simulator.ledgerPort}/ledger`);
  const { cards } = (await response.json()) as {
    cards: { card: string; balance: string; held: string; available: string }[];
  };
  return cards[0]!;
};

test('payments are approved until the balance is spent, and a reversal returns what it took', async () => {
  await open({});
  const first = await acquirer.tap(20_00);
  expect(first.outcome).toMatchObject({ kind: 'approved' });
  expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'declined', responseCode: '51' });
  expect(await account()).toMatchObject({ balance: '5.00', held: '0.00', available: '5.00' });
  await acquirer.reverse(first.request);
  await acquirer.reverse(first.request, 2);
  expect(await account()).toMatchObject({ balance: '25.00', available: '25.00' });
  expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'approved' });
});

test.each([
  [{ isPartial: true }, 30_00, { kind: 'approved', approvedMinor: 25_00, responseCode: '10' }],
  [{ limit: '15.00' }, 20_00, { kind: 'declined', responseCode: '61' }],
  [{ responseCode: '54' }, 1_00, { kind: 'declined', responseCode: '54' }],
  [{ currency: 'EUR' }, 1_00, { kind: 'declined', responseCode: '57' }],
  [{ balance: '1000.00' }, 10_51, { kind: 'declined', responseCode: '51' }],
  [{ pan: '5413330089010640', balance: '0' }, 90_00, { kind: 'approved' }],
])('with %o, a payment of %i is %o', async (card, amountMinor, expected) => {
  await open(card);
  expect((await acquirer.tap(amountMinor)).outcome).toMatchObject(expected);
});

test('the ledger shows the masked card', async () => {
  await open({});
  expect((await account()).card).toBe('411111******1111');
});

test('an approval is held until it is posted', () => {
  const ledger = new Ledger([{ pan: VISA, currency: 'ZAR', balance: '25.00' }]);
  const account = ledger.accounts.find(VISA)!;
  const sale = { processor: 'type-2', key: 'a', kind: 'sale', approvedMinor: 10_00, account } as const;
  const request = { stan: '', rrn: '', tid: '', currencyNumeric: '710', amountMinor: 10_00 };
  const entry = { ...request, ...sale, authorizationCode: '', approvedAtMs: 0 };
  ledger.approve(entry, { isPosted: false });
  expect(account.toJSON()).toMatchObject({ balance: '25.00', held: '10.00', available: '15.00' });
  ledger.complete('type-2', 'a');
  ledger.complete('type-2', 'a');
  expect(account.toJSON()).toMatchObject({ balance: '15.00', held: '0.00', available: '15.00' });
  ledger.approve({ ...entry, key: 'b', kind: 'refund' });
  expect(account.toJSON()).toMatchObject({ available: '25.00' });
  ledger.approve({ ...entry, key: 'c' }, { isPosted: false });
  ledger.reverse('type-2', 'c', '', 0);
  expect(account.toJSON()).toMatchObject({ balance: '25.00', held: '0.00' });
});
