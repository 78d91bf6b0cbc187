import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SAMPLE_CARDS } from '../../src/card/sample-tap.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { postTap } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { letDoubtPass } from '../support/transactions.ts';
import { type Receiver, startReceiver, status } from '../webhooks/receiver.ts';

/** A span in OTLP's JSON, with its attributes as a record. */
interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const [SERVER, CLIENT, CONSUMER] = [2, 3, 5];

let collector: Receiver;
let spans: SentSpan[];
let installation: Installation;
let responded: string[];

beforeAll(async () => {
  collector = await startReceiver(status(200, { 'content-type': 'application/json' }, '{}'));
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: new URL(collector.url).origin };
  installation = await startInstallation({ role: 'none', settings });
  const gateway = await installation.startGateway();
  responded = await work();
  await gateway.stop(); // the remaining spans are sent
  spans = collector.received.flatMap(({ body }) => spansOf(body.toString()));
});
afterAll(async () => {
  await installation.stop();
  await collector.close();
});

/**
 * Two taps within a trace of the caller's, one approved and one that must be reversed; and one that the caller does not
 * record.
 */
async function work(): Promise<string[]> {
  const phone = installation.phone();
  const send = async (amount: string, flags: string) => {
    const sealed = await phone.seal({ amount, currency: 'ZAR' });
    return postTap(installation.url, phone, sealed, { headers: { traceparent: `00-${TRACE}-${CALLER}-${flags}` } });
  };
  const approved = await send('10.00', '01');
  const uncertain = await send('10.09', '01');
  await send('11.00', '00');
  await letDoubtPass(installation.database, outcomeOf(uncertain).serviceReference);
  await eventually(() => expect(installation.asked.reversals).toBe(2));
  return [approved, uncertain].map(
    (response) => `${outcomeOf(response).serviceReference} ${response.headers.get('traceparent')}`,
  );
}

function spansOf(body: string): SentSpan[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { scopeSpans: { spans: (Omit<SentSpan, 'attributes'> & { attributes: Attribute[] })[] }[] }[];
  };
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope) => scope.spans)
    .map((span) => ({ ...span, attributes: Object.fromEntries(span.attributes.map(entryOf)) }));
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function entryOf({ key, value }: Attribute): [string, unknown] {
  return [key, Object.values(value)[0]];
}

const named = (name: string) => spans.filter((span) => span.name === name);

test('a request is a span of the caller’s trace, and the response names it', () => {
  const [id, traceparent] = responded[0]!.split(' ');
  const [span] = named('POST /transactions/mobile');
  expect(span).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, kind: SERVER });
  expect(traceparent).toBe(`00-${TRACE}-${span!.spanId}-01`);
  expect(span!.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/transactions/mobile',
    'http.response.status_code': 200,
  });
  const children = spans.filter(({ parentSpanId }) => parentSpanId === span!.spanId);
  const [SENT, DECIDED] = ['switch authorization', 'commit decision'];
  expect(children.map(({ name }) => name)).toEqual(['commit insert', SENT, DECIDED]);
  for (const { traceId, kind, attributes } of children) {
    expect([traceId, kind]).toEqual([TRACE, CLIENT]);
    expect(attributes['tapwire.transaction.id']).toBe(id);
  }
});

test('the round trip to the switch has the type of the processor and whether there was a response', () => {
  const reported = named('switch authorization').map(({ attributes }) => attributes);
  expect(reported).toHaveLength(2); // the third tap belongs to a trace that its caller does not record
  expect(reported[0]).toMatchObject({ 'tapwire.processor.type': 'type-1', 'tapwire.switch.response': 'responded' });
});

test('a reversal that is sent before its job runs belongs to the trace of its tap', () => {
  const reversals = named('switch reversal');
  expect(reversals.map(({ kind }) => kind)).toEqual([CLIENT, CLIENT]);
  expect(reversals.map(({ traceId }) => traceId)).toContain(TRACE);
});

test('a job begins a trace of its own', () => {
  const job = spans.find(({ spanId }) => spanId === named('switch reversal')[1]!.parentSpanId)!;
  const [id] = responded[1]!.split(' ');
  const attributes = { 'messaging.destination.name': 'reverse', 'tapwire.transaction.id': id };
  expect(job).toMatchObject({ name: 'job reverse', kind: CONSUMER, attributes });
  expect(job.parentSpanId ?? '').toBe('');
  expect(job.traceId).not.toBe(TRACE);
});

describe('no span', () => {
  test('is of a request whose caller does not record it', () => {
    expect(named('POST /transactions/mobile')).toHaveLength(2);
  });

  test('contains anything of a card, a credential or an address', () => {
    const all = collector.received.map(({ body }) => body.toString()).join('\n');
    expect(all).toContain('type-1');
    // Whole card numbers: four of their digits may occur in any random id.
    const pans = Object.values(SAMPLE_CARDS).map(({ pan }) => pan);
    expect(pans.filter((pan) => all.includes(pan) || all.includes(pan.slice(0, 10)))).toEqual([]);
    expect(all).not.toMatch(/Bearer|eyJ|\?|"url\./);
  });
});
