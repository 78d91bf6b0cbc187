/** The processors of an acquirer, and the routes that lead taps to them. */
import { z } from 'zod';
import { numberedId, storableObject, times } from './admin.ts';
import { plainText } from './plain-text.ts';

/** An order among a handful of routes; a thousand steps leave room between any two. */
const MAX_PRIORITY = 999;

const processorType = plainText(32)
  .describe('One of the types that this installation has')
  .meta({ examples: ['type-1'] });
const priority = z
  .int()
  .min(0)
  .max(MAX_PRIORITY)
  .describe('Routes are tried by it, the lowest first')
  .meta({ examples: [1] });
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'not three capital letters')
  .nullable()
  .describe('ISO 4217, of the taps that it takes; null takes every one')
  .meta({ examples: ['ZAR', null] });
const scheme = plainText(32)
  .nullable()
  .describe('Of the cards that it takes; null takes every one')
  .meta({ examples: ['Mastercard', null] });
const xTid = plainText(255).nullable().describe('The terminal whose taps it takes; null takes those of all');

/** A processor of an acquirer: a type, and what its switch wants; the type's own schema checks the latter. */
export const processorSettings = z.object({
  type: processorType,
  config: storableObject
    .describe('What the switch wants: addresses, keys by their ids, times. `tapwire processor example TYPE` shows one')
    .meta({ examples: [{ addresses: [{ host: 'switch.example', port: 9101 }], acquirerId: '50001' }] }),
});

/** What the tap must be to go this way; null fits all. Routes are tried by priority, the lowest first. */
export const routeSettings = z.object({
  processorId: numberedId.describe('The processor that it leads to').meta({ examples: [1] }),
  priority,
  currency: currency.default(null),
  scheme: scheme.default(null),
  xTid: xTid.default(null),
});

export const storedProcessor = z
  .object({
    id: numberedId.describe('Its number among those of the acquirer; never given again'),
    type: processorType,
    config: z.record(z.string(), z.unknown()).describe('As it was given'),
    ...times,
  })
  .meta({ id: 'Processor' });

export const storedRoute = z
  .object({
    id: numberedId.describe('Its number among those of the acquirer; never given again'),
    processorId: numberedId.describe('The processor that it leads to'),
    priority,
    currency,
    scheme,
    xTid,
    ...times,
  })
  .meta({ id: 'Route' });

export type ProcessorSettings = z.output<typeof processorSettings>;
export type RouteSettings = z.output<typeof routeSettings>;
export type StoredProcessor = z.output<typeof storedProcessor>;
export type StoredRoute = z.output<typeof storedRoute>;
