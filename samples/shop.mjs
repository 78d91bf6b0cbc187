/**
 * A shop in Node.js 20 or later, with the package @tapwire/client and nothing else. It sells by payment link, learns of the
 * payment by webhook, and refunds. The orders are in memory here; keep them in your database.
 *
 *   POST /orders {"amount":"25.00"}   creates an order; the response has the URL for the customer
 *   GET  /orders/ID                   shows it
 *   POST /orders/ID/refund            returns the money
 *   POST /webhooks                    what Tapwire sends
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { createClient, ProblemError } from '@tapwire/client';

const { GATEWAY, API_KEY, MERCHANT_ID, WEBHOOK_SECRET, PORT = '8090' } = process.env;
const CURRENCY = 'ZAR';
const MAX_BODY_BYTES = 65_536;
/** Tapwire signs each attempt anew, so an older signature is a copy. */
const MAX_AGE_SECONDS = 300;

const tapwire = createClient({ baseUrl: GATEWAY, credentials: { apiKey: API_KEY } });
const orders = new Map();
/** Per transaction, the sequence of its newest event. */
const newest = new Map();

async function createOrder({ amount }) {
  const id = `order-${crypto.randomUUID()}`;
  const body = {
    merchantId: MERCHANT_ID,
    paymentReference: id,
    amount,
    currencyCode: CURRENCY,
    timestamp: new Date().toISOString(),
    isConsumerApp: true,
    image: { required: false },
  };
  const { url } = await tapwire.createApplink({ body });
  const order = { id, amount, state: 'open', url };
  orders.set(id, order);
  return order;
}

async function refundOrder(order) {
  const body = { amount: order.amount, refundReference: `${order.id}-refund` };
  const { type } = await tapwire.refundSale({ params: { id: order.transactionId }, body });
  if (type === 'Approved') order.state = 'refunded';
  return order;
}

/** Standard Webhooks 1.0. The body must be the bytes that were received. */
function isFromTapwire(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) < MAX_AGE_SECONDS)) return false;
  const key = Buffer.from(WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  const isExpected = (each) => each.length === expected.length && timingSafeEqual(Buffer.from(each), expected);
  return signatures.split(' ').some(isExpected);
}

function receiveEvent(event) {
  // The address receives the events of all merchants of the integrator, and another one may use the same reference.
  if (event.merchantId !== MERCHANT_ID) return;
  const order = orders.get(event.merchantReference);
  const isNew = (newest.get(event.serviceReference) ?? 0) < event.sequence; // neither a repeat nor older than the last one
  if (!order || !isNew) return;
  newest.set(event.serviceReference, event.sequence);
  if (event.type === 'transaction.completed' && event.disposition === 'Approved') {
    const isComplete = event.amount === Number(order.amount) && event.currency === CURRENCY;
    Object.assign(order, { state: isComplete ? 'paid' : 'needs a person', transactionId: event.serviceReference });
  }
  if (event.type === 'transaction.voided' && order.transactionId === event.serviceReference) order.state = 'cancelled';
}

async function respond(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return [413, {}];
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const [, kind, id, act] = request.url.split('/');
  const order = orders.get(id);
  const route = `${request.method} ${kind} ${act ?? (id ? 'ID' : '')}`.trim();
  if (route === 'POST webhooks') {
    if (!isFromTapwire(request.headers, body)) return [401, {}];
    receiveEvent(JSON.parse(body));
    return [204];
  }
  if (route === 'POST orders') return [201, await createOrder(JSON.parse(body))];
  if (route === 'GET orders ID' && order) return [200, order];
  if (route === 'POST orders refund' && order?.state === 'paid') return [200, await refundOrder(order)];
  return [404, {}];
}

const server = createServer((request, response) => {
  respond(request)
    .catch((error) => (error instanceof ProblemError ? [502, error.problem] : [500, {}]))
    .then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body && JSON.stringify(body));
    });
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`The shop listens on port ${server.address().port}.`));
