import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/index.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { RawLine } from './raw-line.ts';

let events: SimulatorEvent[];
let simulator: Simulator;
let line: RawLine;

const { exampleConfig } = type1;
const signOn = () => type1.networkRequest('signOn', { stan: '000001', sentAtMs: Date.now() }, exampleConfig)!;
const sale = (stan = '000002'): IsoMessage => type1.authorization(testPurchase({ stan }), exampleConfig);

beforeEach(async () => {
  events = [];
  simulator = await startSimulator({
    processors: [{ processor: type1, port: 0 }],
    onEvent: (event) => events.push(event),
  });
  line = await RawLine.open(simulator.ports[0]!, type1);
});

afterEach(async () => {
  line.end();
  await simulator.close();
});

async function signedOn(): Promise<void> {
  line.write(line.frame(signOn()));
  expect(await line.next()).toMatchObject({ mti: '0810', responseCode: '00' });
}

test('a sale before sign-on is refused with 91', async () => {
  line.write(line.frame(sale()));
  expect(await line.next()).toMatchObject({ mti: '0210', responseCode: '91' });
  expect(events).toMatchObject([{ event: 'refused', responseCode: '91', reason: 'not signed on' }]);
});

test('a sale after sign-off is refused again', async () => {
  await signedOn();
  line.write(line.frame(type1.networkRequest('signOff', { stan: '000003', sentAtMs: 0 }, exampleConfig)!));
  expect(await line.next()).toMatchObject({ mti: '0810', responseCode: '00' });
  line.write(line.frame(sale()));
  expect(await line.next()).toMatchObject({ responseCode: '91' });
});

test('a sale without a mandatory field receives 30, and the field is named', async () => {
  await signedOn();
  line.write(line.frame({ ...sale(), posDataCode: undefined, currency: undefined }));
  expect(await line.next()).toMatchObject({ mti: '0210', responseCode: '30', stan: '000002' });
  expect(events).toEqual([
    {
      event: 'refused',
      processor: 'type-1',
      responseCode: '30',
      reason: 'missing or malformed: currency, posDataCode',
    },
  ]);
});

test.each([
  ['2', '4111111111111111', '4111x11111111111'],
  ['4', '000000001234', '00000000123x'],
])('a bad field %s receives 30, with the fields that pair the response', async (_number, value, bad) => {
  await signedOn();
  const { track2: _, ...request } = sale();
  const frame = Buffer.from(line.frame({ ...request, pan: '4111111111111111', amount: '000000001234' }));
  frame.write(bad, frame.indexOf(value), 'latin1');
  line.write(frame);
  const { transmissionDateTime, stan, tid } = request;
  expect(await line.next()).toMatchObject({ mti: '0210', responseCode: '30', transmissionDateTime, stan, tid });
});

test('a truncated message receives 30 as far as it could be read, and is reported without its bytes', async () => {
  await signedOn();
  const frame = line.frame({ ...sale(), switchData: undefined });
  const cut = frame.slice(0, -4);
  new DataView(cut.buffer).setUint16(0, cut.length - 2);
  line.write(cut);
  expect(await line.next()).toMatchObject({ mti: '0210', responseCode: '30', stan: '000002' });
  expect(events).toMatchObject([{ event: 'badInput' }]);
  expect(JSON.stringify(events)).not.toContain('411111');
});

test('a message of an unknown type receives 12', async () => {
  await signedOn();
  line.write(line.frame({ ...sale(), mti: '0300' }));
  expect(await line.next()).toMatchObject({ mti: '0310', responseCode: '12' });
});

test('requests split at every byte receive the same responses as complete ones', async () => {
  await signedOn();
  const frame = line.frame(sale());
  await line.writePieces(Array.from(frame, (_, at) => frame.subarray(at, at + 1)));
  expect(await line.next()).toMatchObject({ mti: '0210', stan: '000002' });
});

test('many requests in one segment all receive a response, in order', async () => {
  await signedOn();
  const stans = Array.from({ length: 500 }, (_, index) => String(index + 1_000).padStart(6, '0'));
  line.write(Buffer.concat(stans.map((stan) => line.frame(sale(stan)))));
  for (const stan of stans) expect((await line.next()).stan).toBe(stan);
  expect(simulator.counters()).toMatchObject([{ requests: 501, lines: 1 }]);
});

test('a repeated sale is declined as a duplicate, and booked once', async () => {
  await signedOn();
  const whole = { ...sale(), amount: '000000001000' };
  line.write(Buffer.concat([line.frame(whole), line.frame(whole)]));
  expect(await line.next()).toMatchObject({ responseCode: '00' });
  expect(await line.next()).toMatchObject({ responseCode: '94' });
  expect(simulator.ledger.totals()).toMatchObject({ approved: 1, approvedMinor: 10_00 });
});

test('a frame without content is a keep-alive', async () => {
  line.write(Uint8Array.of(0, 0, 0, 0));
  await signedOn();
  expect(events).toEqual([]);
});

test('a frame longer than any message closes the connection, and only that', async () => {
  const other = await RawLine.open(simulator.ports[0]!, type1);
  line.write(Uint8Array.of(0xff, 0xff));
  await line.closed();
  expect(events).toMatchObject([{ event: 'badInput' }]);
  other.write(other.frame(signOn()));
  expect(await other.next()).toMatchObject({ mti: '0810' });
  other.end();
});

test('bytes that are not a message are reported, and the next message is read', async () => {
  line.write(Uint8Array.of(0, 3, 1, 2, 3));
  await signedOn();
  expect(events).toMatchObject([{ event: 'badInput' }]);
});

test('a response without a request is ignored', async () => {
  line.write(line.frame({ mti: '0810', stan: '000009', responseCode: '00' }));
  await signedOn();
  expect(events).toEqual([]);
});

test('a message on which its processor fails is reported, and connection and switch continue', async () => {
  const trips = (): never => {
    throw new TypeError('unexpected');
  };
  const broken = {
    ...type1,
    readRequest: (message: IsoMessage) => (message.mti === '0200' ? trips() : type1.readRequest(message)),
  };
  const other = await startSimulator({
    processors: [{ processor: broken, port: 0 }],
    onEvent: (event) => events.push(event),
  });
  onTestFinished(() => other.close());
  line.end();
  line = await RawLine.open(other.ports[0]!, type1);
  await signedOn();
  line.write(line.frame(sale()));
  await signedOn();
  expect(events).toMatchObject([{ event: 'badInput', reason: 'TypeError' }]);
});

test('an invalid address is refused by the ledger, which keeps running', async () => {
  const books = await startSimulator({ processors: [], ledgerPort: 0 });
  onTestFinished(() => books.close());
  const socket = connect(books.ledgerPort!, '127.0.0.1');
  socket.write('GET // HTTP/1.1\r\nhost: ledger\r\nconnection: close\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1.1 404 /);
  expect((await fetch(`http://127.0.0.1:${books.ledgerPort}/ledger`)).status).toBe(200);
});
