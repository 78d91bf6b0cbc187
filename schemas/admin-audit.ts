/** The record of changes: who changed what of whose settings, and what operators did at the console. */
import { z } from 'zod';
import { pageOf } from './admin.ts';

/** What can be changed or acted on, by the names of the record. */
export const RECORDED_KINDS = [
  'acquirer',
  'integrator',
  'merchant',
  'terminal',
  'blocked device',
  'processor',
  'route',
  'user',
  'api key',
  'issuer key',
  'callback',
  'terminal profile',
  // What operators act on at the console.
  'webhook event',
  'dead letter',
  'reversal',
  'line',
  'process',
] as const;

export const RECORDED_ACTIONS = ['add', 'change', 'remove', 'act'] as const;

/** The database numbers changes as they come; whole numbers are exact up to here. */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;

const changeNumber = z.int().min(1).max(MAX_NUMBER).describe('Its number in the record; later ones are higher');

const settings = z.record(z.string(), z.unknown()).nullable();

export const recordedChange = z
  .object({
    number: changeNumber.meta({ examples: [4711] }),
    acquirerId: z
      .int()
      .min(0)
      .describe('Whose; 0 is the installation itself')
      .meta({ examples: [1] }),
    at: z
      .string()
      .describe('ISO 8601, UTC')
      .meta({ examples: ['2026-03-01T10:00:00.000Z'] }),
    actor: z
      .string()
      .describe('Who: `key` with the id of an API key, `cli` with user and host, `user` with the name of a portal user')
      .meta({ examples: ['key 0123456789abcdef'] }),
    action: z.enum(RECORDED_ACTIONS).describe('act: done at the console, told by `after.did`'),
    kind: z
      .enum(RECORDED_KINDS)
      .describe('What it was done to')
      .meta({ examples: ['route'] }),
    id: z
      .string()
      .describe('What names that among its kind')
      .meta({ examples: ['3'] }),
    before: settings.describe('As it was, without what is secret; null for what was not there'),
    after: settings.describe('As it is since; null for what is gone'),
  })
  .meta({ id: 'RecordedChange' });

/** Newest first: behind a change come those that were made before it. */
export const changePage = pageOf(
  z
    .string()
    .regex(/^\d{1,16}$/, 'not a whole number')
    .transform(Number)
    .pipe(changeNumber),
);

export type RecordedChange = z.output<typeof recordedChange>;
export type RecordedKind = RecordedChange['kind'];
export type RecordedAction = RecordedChange['action'];
