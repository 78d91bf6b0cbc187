import { randomUUID } from 'node:crypto';
import { type Client, createClient } from '#schemas/client';
import type { Problem } from '#schemas/problem';
import { authorizationOf, Phone, type PhoneAnswer } from '../../tools/phone/phone.ts';
import type { Profile } from '../../tools/phone/profile.ts';
import { wrapTo } from '../output.ts';
import { bad, good } from '../style.ts';
import { demoTypeOf } from './demo-installation.ts';
import type { DemoType } from './demo-keys.ts';

interface DemoTap {
  readonly title: string;
  /** The required result: `Approved 00`, `400 202`. */
  readonly expected: string;
  /** The switch that must have received the request. */
  readonly by?: DemoType;
  readonly tap: (phone: Phone) => Promise<PhoneAnswer>;
}

const TAPS: readonly DemoTap[] = [
  {
    title: 'ZAR 10.00, Visa',
    expected: 'Approved 00',
    by: 'type-1',
    tap: (phone) => phone.tap({ amount: '10.00', currency: 'ZAR' }),
  },
  {
    title: 'ZAR 25.00, Mastercard',
    expected: 'Approved 00',
    by: 'type-2',
    tap: (phone) => phone.tap({ amount: '25.00', currency: 'ZAR', card: 'mastercard' }),
  },
  {
    title: 'ZAR 10.51, Amex',
    expected: 'Declined 51',
    by: 'type-1993',
    tap: (phone) => phone.tap({ amount: '10.51', currency: 'ZAR', card: 'amex' }),
  },
  {
    title: 'truncated card data',
    expected: '400 202',
    tap: async (phone) => {
      const sealed = await phone.seal({ amount: '10.00', currency: 'ZAR' });
      return phone.submit({
        ...sealed,
        merchantReference: randomUUID(),
        paymentCardData: sealed.paymentCardData.slice(0, -8),
      });
    },
  },
];

/** Submits the demo's taps and prints the statuses of each. @returns whether every result was as expected */
export async function submitDemoTaps(profile: Profile): Promise<boolean> {
  const phone = new Phone(profile);
  const client = createClient({ baseUrl: profile.url, credentials: { token: () => phone.token() } });
  let isAsExpected = true;
  for (const { title, expected, by, tap } of TAPS) {
    const answer = await tap(phone);
    const askedSwitch = await switchAsked(client, answer);
    const got = outcomeOf(answer);
    const isRight = got === expected && askedSwitch === by;
    isAsExpected &&= isRight;
    const mark = isRight ? good('ok') : bad(`EXPECTED ${expected} ${by ?? ''}`);
    const columns = [
      title.padEnd(22),
      got.padEnd(11),
      (askedSwitch ?? '').padEnd(9),
      `${answer.ms.toFixed(0)} ms`.padStart(7),
    ];
    console.log(`tap        ${columns.join('  ')}   ${mark}`);
    const { serviceReference } = authorizationOf(answer) ?? {};
    if (serviceReference)
      console.log(wrapTo(process.stdout, `             ${await trailOf(client, serviceReference)}`, 13));
  }
  return isAsExpected;
}

/** Derived from the transaction's route; undefined for a tap that was refused before routing. */
async function switchAsked(client: Client, answer: PhoneAnswer): Promise<DemoType | undefined> {
  const { serviceReference } = authorizationOf(answer) ?? {};
  if (serviceReference === undefined) return undefined;
  const { details } = await client.getTransaction({ params: { id: serviceReference } });
  return demoTypeOf(details.at(-1)?.paymentProviderId);
}

function outcomeOf(answer: PhoneAnswer): string {
  const authorization = authorizationOf(answer);
  if (authorization === undefined) return `${answer.status} ${(answer.body as Problem).errorCode}`;
  return `${authorization.type} ${authorization.isoResponseCode}`.trim();
}

/** Statuses 8 and 9 are recorded shortly after the HTTP response was flushed. */
const RECORDED_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 50;

/** Each status with the milliseconds since the first: `RequestReceived 0 · …`. */
async function trailOf(client: Client, id: string): Promise<string> {
  const giveUpAtMs = performance.now() + RECORDED_WITHIN_MS;
  let events = await client.listEventsOfTransaction({ params: { id } });
  while (!events.some(({ to }) => to === 'RespondedToPhone') && performance.now() < giveUpAtMs) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    events = await client.listEventsOfTransaction({ params: { id } });
  }
  const startedAtMs = Date.parse(events[0]?.at ?? '');
  return events.map(({ to, at }) => `${to ?? ''} +${Date.parse(at) - startedAtMs} ms`).join(' · ');
}
