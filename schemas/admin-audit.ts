/** Admin events: who changed which settings of which tenant, and actions of operators at the console. */
import { z } from 'zod';
import { pageOf } from './admin.ts';
import { plainText } from './plain-text.ts';

/** Kinds of things that can be changed or acted on, with their names in admin events. */
const RECORDED_KINDS = [
  'acquirer',
  'integrator',
  'merchant',
  'terminal',
  'blocked device',
  'attester',
  'processor',
  'route',
  'user',
  'api key',
  'issuer key',
  'callback',
  'hsm key',
  'terminal profile',
  // Objects of an operator's actions at the console.
  'webhook event',
  'dead letter',
  'reversal',
  'review',
  'line',
  'process',
  'transactions',
  'link',
  'session',
  'totp',
  'restore',
] as const;

const RECORDED_ACTIONS = ['add', 'change', 'remove', 'act'] as const;

/** The database numbers admin events in order; integers are exact up to this one. */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;

const changeNumber = z
  .int()
  .min(1)
  .max(MAX_NUMBER)
  .describe('Number of the admin event; later events have higher numbers');

const settings = z.record(z.string(), z.unknown()).nullable();

export const recordedChange = z
  .object({
    number: changeNumber.meta({ examples: [4711] }),
    acquirerId: z
      .int()
      .min(0)
      .describe('Id of the acquirer whose setting changed; 0 for the installation itself')
      .meta({ examples: [1] }),
    at: z
      .string()
      .describe('Time of the change, ISO 8601 in UTC')
      .meta({ examples: ['2026-03-01T10:00:00.000Z'] }),
    actor: z
      .string()
      .describe(
        'Author of the change: `key` and the id of an API key, `cli` with user and host, or `user` and the name of a portal user',
      )
      .meta({ examples: ['key 0123456789abcdef'] }),
    action: z
      .enum(RECORDED_ACTIONS)
      .describe('Kind of change; `act` is an action in the operations console, described by `after.did`'),
    kind: z
      .enum(RECORDED_KINDS)
      .describe('Kind of the changed object')
      .meta({ examples: ['route'] }),
    id: z
      .string()
      .describe('Id of the changed object')
      .meta({ examples: ['3'] }),
    before: settings.describe('Settings before the change, without secrets; null if the object did not exist'),
    after: settings.describe('Settings after the change, without secrets; null if the object was removed'),
  })
  .meta({ id: 'RecordedChange' });

/** Newest first: the next page has earlier events. */
export const changePage = pageOf(
  z
    .string()
    .regex(/^\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .pipe(changeNumber),
).extend({
  kind: z.enum(RECORDED_KINDS).optional().describe('Only changes of objects of this kind'),
  id: plainText(255).optional().describe('Only changes of objects with this id'),
});

export type RecordedChange = z.output<typeof recordedChange>;
export type RecordedKind = RecordedChange['kind'];
export type RecordedAction = RecordedChange['action'];
