/** The processors of an acquirer, and the routes that assign transactions to them. */
import { z } from 'zod';
import { numberedId, storableObject, times } from './admin.ts';
import { plainText } from './plain-text.ts';

/** Orders a handful of routes; a thousand values leave room between any two. */
const MAX_PRIORITY = 999;

const processorType = plainText(32)
  .describe('Processor type; one of the types installed on this gateway')
  .meta({ examples: ['type-1'] });
const processorName = plainText(64)
  .nullable()
  .meta({ examples: ['Main switch', null] });
const priority = z
  .int()
  .min(0)
  .max(MAX_PRIORITY)
  .describe('Priority of the route; the gateway tries the lowest number first')
  .meta({ examples: [1] });
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be three capital letters')
  .nullable()
  .describe('Currency of the taps that the route accepts, ISO 4217 alphabetic code; null for every currency')
  .meta({ examples: ['ZAR', null] });
const scheme = plainText(32)
  .nullable()
  .describe('Card scheme that the route accepts; null for every scheme')
  .meta({ examples: ['Mastercard', null] });
const xTid = plainText(255)
  .nullable()
  .describe('Terminal (`x-tid`) whose taps the route accepts; null for every terminal');

/**
 * A processor of an acquirer: its type and the options of its switch. The schema of the type validates the options.
 */
export const processorSettings = z.object({
  type: processorType,
  name: processorName
    .optional()
    .describe('Name for people, shown in the console; null for none, and unchanged if omitted'),
  config: storableObject
    .describe(
      'Configuration of the processor: switch addresses, key ids and timeouts. The schema depends on the type; `tapwire processor example TYPE` prints an example',
    )
    .meta({ examples: [{ addresses: [{ host: 'switch.example', port: 9101 }], acquirerId: '50001' }] }),
});

/** A change of a processor, with what the caller states about it. */
export const processorChange = processorSettings.extend({
  isSameSwitch: z
    .boolean()
    .optional()
    .describe(
      'Statement that the changed configuration leads to the same switch, with the same books. Required to change what identifies the switch (addresses, listener, ids, keys) while transactions are open. False if omitted',
    ),
});

/** Conditions for a transaction to take the route; null matches all. Routes are tried by priority, lowest first. */
export const routeSettings = z.object({
  processorId: numberedId.describe('Id of the processor that receives the taps of the route').meta({ examples: [1] }),
  priority,
  currency: currency.default(null),
  scheme: scheme.default(null),
  xTid: xTid.default(null),
});

export const storedProcessor = z
  .object({
    id: numberedId.describe('Id of the processor within the acquirer, from 1; never reused'),
    type: processorType,
    name: processorName.describe('Name for people, shown in the console; null if it has none'),
    config: z.record(z.string(), z.unknown()).describe('Configuration of the processor, as stored'),
    switchRevision: z
      .int()
      .min(0)
      .describe('Number of the switch behind the processor; increases when what identifies the switch changes'),
    sameSwitchSince: z
      .int()
      .min(0)
      .describe(
        'First value of `switchRevision` that was stated to be the same switch as the present one. Sales of earlier switches cannot be voided or refunded here',
      ),
    ...times,
  })
  .meta({ id: 'Processor' });

export const storedRoute = z
  .object({
    id: numberedId.describe('Id of the route within the acquirer, from 1; never reused'),
    processorId: numberedId.describe('Id of the processor that receives the taps of the route'),
    priority,
    currency,
    scheme,
    xTid,
    ...times,
  })
  .meta({ id: 'Route' });

export type ProcessorSettings = z.output<typeof processorSettings>;
export type ProcessorChange = z.output<typeof processorChange>;
export type RouteSettings = z.output<typeof routeSettings>;
export type StoredProcessor = z.output<typeof storedProcessor>;
export type StoredRoute = z.output<typeof storedRoute>;
