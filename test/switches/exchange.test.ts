import { expect, test } from 'vitest';
import { HsmUnavailable, Iso8583Error } from '../../src/basics/errors.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import type { RequestResult } from '../../src/switching/connection/pending-requests.ts';
import { exchange } from '../../src/switching/switches/exchange.ts';
import { faultLog } from '../../src/switching/switches/key-requests.ts';
import type { Exchange } from '../../src/switching/switches/ports.ts';
import { buildFor, switchSlot } from '../../src/switching/switches/switch-slot.ts';

const RESPONSE: IsoMessage = { mti: '0210', responseCode: '00' };
const RESPONSE_COPY = Uint8Array.of(1);
const UNREADABLE = new Iso8583Error('TRUNCATED', 'pan', 17);
const RESPONDED = { kind: 'responded', response: RESPONSE, connectionId: 'line' } as RequestResult<IsoMessage>;

function trips(): never {
  throw new TypeError('unexpected');
}

/** A slot that returns `result`, with the log and the stored messages of the exchange. */
interface ExchangeDifferences {
  readonly read?: () => unknown;
  readonly note?: () => void;
  readonly seal?: () => Promise<void>;
  readonly gate?: () => Promise<void> | undefined;
}

async function exchangeOver(
  result: () => RequestResult<IsoMessage>,
  { read = (): unknown => 'read', note = (): void => {}, seal, gate }: ExchangeDifferences = {},
) {
  const kept: object[] = [];
  const reported: object[] = [];
  let released = 0;
  const release = () => void released++;
  const slot = { connectionId: 'line', request: async () => result(), release };
  const parts = {
    processorId: 2,
    copies: {
      of: (message: unknown) => (message === RESPONSE ? RESPONSE_COPY : message === UNREADABLE ? 17 : undefined),
    },
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    messages: {
      isKeeping: true,
      keep: ({ outcome, isRoutine, response }: Exchange) => void kept.push({ outcome, isRoutine, response }),
    },
    reportFault: faultLog({ acquirerId: 1, processorId: 2 }, { warn: (fields) => void reported.push(fields) }, () => 0),
    note: async () => note(),
    seal,
  };
  const about = { acquirerId: 1, id: 'b1c8a4be-45c0-4d3a-9d2f-64d1a1f6a001', attempt: 1 };
  const timing = { deadlineAtMs: 1, sendByAtMs: 1 };
  const outgoing = { about, kind: 'authorization', number: 1, message: { mti: '0200' }, timing, gate } as const;
  return { response: await exchange(parts, slot, outgoing, read), kept, reported, released };
}

test('a response has the outcome that was read from it', async () => {
  const { response, kept } = await exchangeOver(() => RESPONDED);
  expect(response).toEqual({ kind: 'responded', value: 'read', connectionId: 'line' });
  expect(kept).toEqual([{ outcome: 'responded', isRoutine: false, response: RESPONSE_COPY }]);
});

test('an approval is routine for stored messages', async () => {
  const { kept } = await exchangeOver(() => RESPONDED, { read: () => ({ outcome: { kind: 'approved' } }) });
  expect(kept).toMatchObject([{ outcome: 'responded', isRoutine: true }]);
});

test('the length of a response that cannot be read is kept', async () => {
  const { response, kept } = await exchangeOver(
    () => ({ kind: 'unreadable', error: UNREADABLE, connectionId: 'line' }) as never,
  );
  expect(response).toEqual({ kind: 'garbled', connectionId: 'line' });
  expect(kept).toEqual([{ outcome: 'garbled', isRoutine: false, response: 17 }]);
});

test.each([
  ['its reader', { read: trips }],
  ['other observers of it', { note: trips }],
])('a response on which %s fails is garbled: its request was written, and may have been approved', async (_, how) => {
  const { response, kept, reported } = await exchangeOver(() => RESPONDED, how);
  expect(response).toEqual({ kind: 'garbled', connectionId: 'line' });
  expect(kept).toEqual([{ outcome: 'garbled', isRoutine: false, response: RESPONSE_COPY }]);
  expect(reported).toEqual([{ acquirerId: 1, processorId: 2, connectionId: 'line', code: 'TypeError', suppressed: 0 }]);
});

test('a request that the slot rejects was never written', async () => {
  const { response } = await exchangeOver(() => {
    throw new Iso8583Error('LENGTH_INVALID', 'pan', 0);
  });
  expect(response).toMatchObject({ kind: 'failed', written: false, reason: 'MESSAGE_INVALID' });
});

test('a slot whose message cannot be built is released', () => {
  let released = 0;
  expect(() => buildFor({ release: () => released++ }, trips)).toThrow(TypeError);
  expect(released).toBe(1);
});

test('a reversal that its processor cannot build fails as not written, and the fault is logged', async () => {
  let released = 0;
  const faults: unknown[] = [];
  const slot = switchSlot({ connectionId: 'line', release: () => released++ } as never, {
    processor: { spec: { fields: {} }, reversal: trips } as never,
    config: {} as never,
    fieldsOf: trips,
    approvals: {} as never,
    exchange: trips,
    pinGate: () => undefined,
    isPinKeyAccepted: () => true,
    reportFault: (error) => void faults.push(error),
  });
  const response = await slot.reverse({ attempt: 1 } as never, { deadlineAtMs: 1, sendByAtMs: 1 }, {} as never);
  expect(response).toMatchObject({ kind: 'failed', written: false, connectionId: 'line' });
  expect(faults).toEqual([expect.any(TypeError)]);
  expect(released).toBe(1);
});

test('a processor that always fails does not flood the log, which states how much it left out', () => {
  const reported: object[] = [];
  let nowMs = 0;
  const tell = faultLog(
    { acquirerId: 1, processorId: 2 },
    { warn: (fields) => void reported.push(fields) },
    () => nowMs,
  );
  for (let n = 0; n < 1_000; n++) tell(new TypeError('4111111111111111'));
  nowMs = 1_000;
  tell(new TypeError('4111111111111111'));
  expect(reported.length).toBeLessThan(20);
  expect(reported.at(-1)).toMatchObject({ code: 'TypeError', suppressed: 1_000 - (reported.length - 1) });
  expect(JSON.stringify(reported)).not.toContain('4111');
});

test('a message that the HSM gives no MAC is not written, and its slot is released', async () => {
  const never = () => {
    throw new Error('It was written');
  };
  const seal = async () => {
    throw new HsmUnavailable();
  };
  const { response, reported, released } = await exchangeOver(never, { seal });
  expect(response).toEqual({ kind: 'failed', written: false, reason: 'MAC_UNAVAILABLE', connectionId: 'line' });
  expect(released).toBe(1);
  expect(reported).toHaveLength(1);
});

test('a PIN key that changes while the HSM makes the MAC holds the message, which then gets a new MAC', async () => {
  const { promise: changed, resolve: change } = Promise.withResolvers<void>();
  let closed: Promise<void> | undefined;
  let sealed = 0;
  let written = false;
  const seal = async () => {
    if (++sealed === 1) closed = changed;
  };
  const exchanged = exchangeOver(
    () => {
      written = true;
      return RESPONDED;
    },
    { seal, gate: () => closed },
  );
  await new Promise(setImmediate);
  expect({ sealed, written }).toEqual({ sealed: 1, written: false });
  closed = undefined;
  change();
  expect((await exchanged).response.kind).toBe('responded');
  expect(sealed).toBe(2);
});
