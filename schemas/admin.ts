import { z } from 'zod';
import { plainText } from './plain-text.ts';

/** What PostgreSQL's integer holds: acquirers, processors and routes are numbered by it. */
const MAX_ID = 2_147_483_647;
/** An order among a handful of routes; a thousand steps leave room between any two. */
const MAX_PRIORITY = 999;

const id = z.int().min(1).max(MAX_ID);
const idInPath = z
  .string()
  .regex(/^\d{1,10}$/, 'not a whole number')
  .transform(Number)
  .pipe(id);

export const acquirerPath = z.object({ acquirerId: idInPath });
export const settingPath = acquirerPath.extend({ id: idInPath });

/** Deeper or larger than this is no configuration of a switch, which is a page of names and numbers. */
const MAX_DEPTH = 8;
const MAX_VALUES = 1_000;
const MAX_CHARS = 2_048;

const storableText = plainText(MAX_CHARS).or(z.literal(''));

/** A JSON object that a jsonb column can hold: texts without control characters, neither deep nor large. */
const settings = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && isStorable(value),
  'not an object of plain texts, numbers, lists and objects',
);

/** Without recursion: what comes may be nested as deep as a body is long. */
function isStorable(object: object): boolean {
  let level: unknown[] = [object];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (depth > MAX_DEPTH || count > MAX_VALUES) return false;
    const objects = level.filter(isObject);
    const texts = [...level.filter((value) => typeof value === 'string'), ...objects.flatMap(Object.keys)];
    if (!texts.every((text) => storableText.safeParse(text).success)) return false;
    level = objects.flatMap((value) => Object.values(value));
  }
  return true;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A processor of an acquirer: a type, and what its switch wants; the type's own schema checks the latter. */
export const processorSettings = z.object({ type: plainText(32), config: settings });

/** What the tap must be to go this way; null fits all. Routes are tried by priority, the lowest first. */
export const routeSettings = z.object({
  processorId: id,
  priority: z.int().min(0).max(MAX_PRIORITY),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'not three capital letters')
    .nullable()
    .default(null),
  scheme: plainText(32).nullable().default(null),
  xTid: plainText(255).nullable().default(null),
});

const times = { createdAt: z.string(), updatedAt: z.string() };

export const storedProcessor = z
  .object({ id: z.int(), type: z.string(), config: z.record(z.string(), z.unknown()), ...times })
  .meta({ id: 'Processor' });

export const storedRoute = z
  .object({
    id: z.int(),
    processorId: z.int(),
    priority: z.int(),
    currency: z.string().nullable(),
    scheme: z.string().nullable(),
    xTid: z.string().nullable(),
    ...times,
  })
  .meta({ id: 'Route' });

export type ProcessorSettings = z.output<typeof processorSettings>;
export type RouteSettings = z.output<typeof routeSettings>;
export type StoredProcessor = z.output<typeof storedProcessor>;
export type StoredRoute = z.output<typeof storedRoute>;
