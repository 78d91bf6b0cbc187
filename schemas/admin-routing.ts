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

/** What an examination of a processor finds, as `tapwire doctor` states it. */
export const processorFinding = z
  .object({
    verdict: z.enum(['good', 'warning', 'fault']).describe('Verdict about the examined part'),
    part: z.string().describe('Examined part'),
    description: z.string().describe('State of the part'),
    advice: z.string().nullable().describe('Recommended act; null if nothing needs to be done'),
  })
  .meta({ id: 'ProcessorFinding' });

/** A tap that could be submitted. The amount is no condition of a route. */
export const routeQuestion = z
  .strictObject({
    currency: currency.unwrap().describe('Currency of the tap, ISO 4217 alphabetic code'),
    scheme: scheme.default(null).describe('Scheme of the card; null for a card without a known scheme'),
    xTid: xTid.unwrap().describe('Terminal (`x-tid`) that submits the tap'),
    isMandate: z.boolean().default(false).describe('Whether the tap verifies the card for a debit order mandate (TT3)'),
  })
  .meta({ id: 'RouteQuestion' });

/** A route, and whether it takes a tap. */
export const routeVerdict = z
  .object({
    routeId: numberedId.describe('Id of the route'),
    verdict: z
      .enum(['chosen', 'fallback', 'unavailable', 'unfit'])
      .describe(
        'Place of the route: `chosen` takes the tap, a `fallback` takes it if those before cannot, `unavailable` fits without a switch that is signed on, and `unfit` does not take it',
      ),
    reason: z.string().describe('Reason for the verdict'),
    processorId: numberedId.describe('Id of the processor that receives the taps of the route'),
    priority,
  })
  .meta({ id: 'RouteVerdict' });

export type ProcessorFinding = z.output<typeof processorFinding>;
export type RouteQuestion = z.output<typeof routeQuestion>;
export type RouteVerdict = z.output<typeof routeVerdict>;
export type ProcessorSettings = z.output<typeof processorSettings>;
export type ProcessorChange = z.output<typeof processorChange>;
export type RouteSettings = z.output<typeof routeSettings>;
export type StoredProcessor = z.output<typeof storedProcessor>;
export type StoredRoute = z.output<typeof storedRoute>;
