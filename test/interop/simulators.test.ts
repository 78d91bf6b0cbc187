import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { shareMacKey } from './mac-key.ts';
import { Peer, type PeerFields } from './peer.ts';

/** The codes of a dialect, and how a reversal names its original beside the fields that it repeats. */
const DIALECTS = [
  {
    processor: type1,
    approved: '00',
    notEnoughFunds: '51',
    named: (sale: PeerFields) => ({
      '90': `${sale[0]}${sale[11]}${sale[7]}${'50001'.padStart(11, '0')}${'0'.repeat(11)}`,
      '127.2': `${sale['127.2']}R1`,
      '127.11': sale['127.2']!,
      '11': sale[11]!,
    }),
  },
  {
    processor: type2,
    approved: '00',
    notEnoughFunds: '51',
    named: (sale: PeerFields) => ({ '56b': `${sale[0]}${sale[11]}${sale[7]}` }),
  },
  {
    processor: type1993,
    approved: '000',
    notEnoughFunds: '116',
    named: (sale: PeerFields) => ({
      '30': sale[4]!.padEnd(24, '0'),
      '56': `${sale[0]}${sale[11]}${sale[12]}05${sale[32]}`,
      '11': sale[11]!,
    }),
  },
];

let peer: Peer;
let simulator: Simulator;
beforeAll(async () => {
  peer = new Peer(inject('jposClasses'));
  simulator = await startSimulator({ processors: DIALECTS.map(({ processor }) => ({ processor, port: 0 })) });
  for (const { processor } of DIALECTS) await shareMacKey(peer, processor.type, processor.exampleConfig);
});
afterAll(async () => {
  peer.close();
  await simulator.close();
});

describe.each(
  DIALECTS.map((dialect, at) => [dialect.processor.type, dialect, at] as const),
)('%s', (type, dialect, at) => {
  let connection: string;
  let stan = 500;
  const nextStan = () => String(++stan).padStart(6, '0');
  /** The fields of a sample, as jPOS reads them, with some of its own. */
  const like = async (sample: string, fields: PeerFields): Promise<PeerFields> => {
    const { wireHex } = dialect.processor.samples.find(({ name }) => name === sample)!;
    return { ...(await peer.fields(type, fromHex(wireHex))), '11': nextStan(), ...fields };
  };
  const send = (fields: PeerFields) => peer.send(type, connection, fields);

  beforeAll(async () => {
    connection = await peer.ask('connect', type, '127.0.0.1', String(simulator.ports[at]));
  });

  test('jPOS signs on', async () => {
    const request = await like('sign-on', {});
    const accepted = type === 'type-1993' ? '800' : '00';
    expect(await send(request)).toMatchObject({ '11': request[11], '39': accepted });
  });

  test('jPOS sells: approved, with the fields of its request', async () => {
    const sale = await like('tap', { '4': '000000001000' });
    const response = await send(sale);
    expect(response).toMatchObject({
      '39': dialect.approved,
      '4': sale[4],
      '7': sale[7],
      '11': sale[11],
      '37': sale[37],
      '41': sale[41],
    });
    expect(response[38]).toMatch(/^\w{6}$/);
  });

  test('jPOS sells for more than the card has: declined', async () => {
    expect(await send(await like('tap', { '4': '000000001051' }))).toMatchObject({ '39': dialect.notEnoughFunds });
  });

  test('jPOS reverses its sale, and the ledger has it reversed', async () => {
    const sale = await like('tap', { '4': '000000002000' });
    expect(await send(sale)).toMatchObject({ '39': dialect.approved });
    const reversal = await like('reversal after a timeout', { '4': '000000002000', ...dialect.named(sale) });
    expect(await send(reversal)).toMatchObject({ '39': expect.stringMatching(/^(00|400)$/), '11': reversal[11] });
    const booked = [...simulator.ledger.entries()].filter(
      (entry) => entry.processor === type && entry.stan === sale[11],
    );
    expect(booked).toMatchObject([{ state: 'reversed' }]);
  });

  test('a request without its amount is refused with 30, and jPOS finds the request of the response', async () => {
    const { 4: _, ...sale } = await like('tap', {});
    const response = await send(sale);
    expect(response).toMatchObject({ '7': sale[7], '11': sale[11] });
    expect(response[39]).toMatch(/^(30|904)$/);
  });
});
