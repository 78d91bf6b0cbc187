import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { type IsoMessage, switchProtocol } from '../../src/kits/processor-kit/index.ts';

const { exampleConfig } = type1;
const request = type1.authorization(testPurchase(), exampleConfig);
const response = type1.simulate(request, { responseCode: '00', authorizationCode: '123456' });

function protocolWith(differing: Partial<typeof exampleConfig> = {}, onSwitchRequest?: (request: IsoMessage) => void) {
  let stan = 100;
  const options = { nextStan: () => String(stan++).padStart(6, '0'), nowMs: () => 0, onSwitchRequest };
  return switchProtocol(type1, { ...exampleConfig, ...differing }, options);
}

/** A connection whose other end responds with this code, and the requests sent on it. */
function responding(responseCode: string) {
  const sent: IsoMessage[] = [];
  const exchange = async (message: IsoMessage) => {
    sent.push(message);
    return type1.simulate(message, { responseCode });
  };
  return { sent, line: { connectionId: 'line-1', exchange, signOnAgain: () => {} } };
}

const LINE = responding('00').line;

test('sign-on is one exchange with its own STAN, and succeeds if the switch accepts it', async () => {
  const { sent, line } = responding('00');
  const protocol = protocolWith();
  expect(await protocol.signOn!(line)).toBe(true);
  expect(await protocol.signOn!(line)).toBe(true);
  expect(sent).toMatchObject([
    { mti: '0800', networkCode: '001', stan: '000100' },
    { mti: '0800', networkCode: '001', stan: '000101' },
  ]);
  expect(await protocol.signOn!(responding('91').line)).toBe('91');
});

test('a switch without sign-on is neither signed on nor off, but gets echoes', () => {
  const protocol = protocolWith({ signOn: false });
  expect(protocol.signOn).toBeUndefined();
  expect(protocol.signOff).toBeUndefined();
  expect(protocol.echo).toBeDefined();
});

test('a dialect without an echo message sends none', () => {
  const quiet = { ...type1, networkRequest: () => undefined };
  const protocol = switchProtocol(quiet, exampleConfig, { nextStan: () => '000001', nowMs: () => 0 });
  expect([protocol.signOn, protocol.echo, protocol.signOff]).toEqual([undefined, undefined, undefined]);
});

test('a response that lacks a key field could belong to its request, but not without the STAN, nor with a field that differs', () => {
  const protocol = protocolWith();
  expect(protocol.couldMatch({ ...response, transmissionDateTime: undefined }, request)).toBe(true);
  expect(protocol.couldMatch({ ...response, tid: undefined, stan: '999999' }, request)).toBe(false);
  expect(protocol.couldMatch({ mti: '0210', responseCode: '00' }, request)).toBe(false);
  expect(protocol.couldMatch({ ...response, stan: undefined }, request)).toBe(false);
  expect(protocol.couldMatch({ ...response, mti: '0430' }, request)).toBe(false);
});

test('a response without DE7 or DE37 is never an approval, even if only one request can be its original', () => {
  for (const field of ['transmissionDateTime', 'rrn']) {
    expect(type1.readOutcome({ ...response, [field]: undefined }, request).kind).toBe('unknown');
  }
});

function reversalSentAt(sentAtMs: number): IsoMessage {
  const original = type1.originalData(request);
  const localDateTime = '20261120161005';
  return type1.reversal(
    { original, reason: 'timeout', attempt: 1, stan: '000123', sentAtMs, localDateTime },
    exampleConfig,
  );
}

test('a response to a reversal without DE7 belongs to the reversal, and never to the sale that has the same STAN', () => {
  const protocol = protocolWith();
  const { sentAtMs } = testPurchase();
  const reversal = reversalSentAt(sentAtMs + 6_000);
  const acknowledgement = { ...response, mti: '0430', transmissionDateTime: undefined };
  expect(protocol.responseKey(acknowledgement)).toBeUndefined();
  expect(protocol.couldMatch(acknowledgement, reversal)).toBe(true);
  expect(protocol.couldMatch(acknowledgement, request)).toBe(false);
  // The same message with the DE7 of the sale cannot be the acknowledgement.
  const ofTheSale = { ...response, mti: '0430' };
  expect(protocol.couldMatch(ofTheSale, reversal)).toBe(false);
  expect(protocol.responseKey(ofTheSale)).not.toBe(protocol.requestKey(reversal));
});

test('a reversal and its sale have different keys, although the STAN is the same', () => {
  const protocol = protocolWith();
  const reversal = reversalSentAt(testPurchase().sentAtMs);
  expect(reversal.stan).toBe(request.stan);
  expect(protocol.requestKey(reversal)).not.toBe(protocol.requestKey(request));
});

test('the readable part of a message that cannot be read completely is used', () => {
  const protocol = protocolWith();
  const target = new Uint8Array(2_048);
  const end = protocol.encode(response, target, 0);
  let failure: unknown;
  try {
    protocol.decode(target, 0, end - 3);
  } catch (error) {
    failure = error;
  }
  expect(protocol.salvage(failure)).toMatchObject({ mti: '0210', stan: request.stan });
  expect(protocol.salvage(new Error('something else'))).toBeUndefined();
});

test('a request of the switch receives a response first and is reported afterwards', async () => {
  const reported: string[] = [];
  const protocol = protocolWith({}, (message) => reported.push(`reported ${String(message.networkCode)}`));
  const cutOver = type1.networkRequest('cutOver', { stan: '000009', sentAtMs: 0 }, exampleConfig)!;
  await protocol.onRequest(cutOver, (response) => reported.push(`responded ${String(response.responseCode)}`), LINE);
  expect(reported).toEqual(['responded 00', 'reported 201']);
});

test('a connection that the switch signs off is signed on again before it carries anything, and no other is', () => {
  const done: string[] = [];
  const line = { ...LINE, signOnAgain: () => void done.push('signs on again') };
  const protocol = protocolWith();
  for (const kind of ['echo', 'cutOver', 'signOff'] as const) {
    const request = type1.networkRequest(kind, { stan: '000009', sentAtMs: 0 }, exampleConfig)!;
    void protocol.onRequest(request, (response) => done.push(`responds ${String(response.networkCode)}`), line);
  }
  expect(done).toEqual(['responds 301', 'responds 201', 'responds 002', 'signs on again']);
});

test('a sale from the switch is reported and receives no response', async () => {
  const reported: string[] = [];
  const protocol = protocolWith({}, (message) => reported.push(message.mti));
  await protocol.onRequest(request, () => reported.push('responded'), LINE);
  expect(reported).toEqual(['0200']);
});

test('a session message without MAC is not sent, and the step states so', async () => {
  const { sent, line } = responding('00');
  const codec = { ...type1.codec(exampleConfig), seal: () => Promise.reject(new Error('no MAC')) };
  const protocol = switchProtocol(type1, exampleConfig, { nextStan: () => '000001', nowMs: () => 0, codec });
  await expect(protocol.echo!(line)).rejects.toMatchObject({ code: 'NOT_SENT' });
  expect(sent).toEqual([]);
});
