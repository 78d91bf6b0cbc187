import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { outcomeOf } from '../support/responses.ts';
import { storedTransaction } from '../support/transactions.ts';
import { shareMacKey } from './mac-key.ts';
import { Peer } from './peer.ts';

let peer: Peer;
beforeAll(() => {
  peer = new Peer(inject('jposClasses'));
});
afterAll(() => peer.close());

describe.each([
  ['type-1', '0200', '0420'],
  ['type-2', '0100', '0400'],
  ['type-1993', '1200', '1420'],
])('a gateway whose switch of %s is jPOS', (type, sale, reversal) => {
  let installation: Installation;
  let port: string;
  beforeAll(async () => {
    port = String(await freePort());
    await shareMacKey(peer, type, (await loadProcessors()).get(type)!.exampleConfig);
    await peer.ask('listen', type, port);
    installation = await startInstallation({ type, connectTo: async () => Number(port) });
  });
  afterAll(() => installation.stop());

  const tap = async (amount: string) => outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));
  const received = async () => (await peer.ask('received', port)).split(' ');

  test('takes a payment', async () => {
    expect(await tap('10.00')).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
    expect(await received()).toContain(sale);
  });

  test('reverses a payment to which jPOS did not respond', async () => {
    const { serviceReference: id, ...outcome } = await tap('10.69');
    expect(outcome).toMatchObject({ type: 'Indeterminate' });
    await eventually(async () =>
      expect(await storedTransaction(installation.database, id)).toMatchObject({ disposition: Disposition.Voided }),
    );
    expect(await received()).toContain(reversal);
  });
});
