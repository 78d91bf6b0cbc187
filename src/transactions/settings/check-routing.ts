import type { z } from 'zod';
import type { ProcessorSettings, RouteSettings } from '#schemas/admin-routing';
import { SCHEMES } from '../../emv/scheme.ts';
import { brokenRules, type Fault, invalidValue, invalidValues, type Rule } from '../../errors.ts';
import { keyExchangeFaults } from '../../processor-kit/key-change.ts';
import type { Processor, SwitchConfig } from '../../processor-kit/processor.ts';
import { findCurrency } from '../model/money.ts';

/** The types that this installation has, by name. */
export type ProcessorTypes = ReadonlyMap<string, Processor>;

/**
 * Whether a processor can be run as it is to be stored: a type that is there, and a configuration that this type takes.
 *
 * @param foreignIn what the configuration names that is not its acquirer's
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault
 */
export function checkProcessorSettings(
  types: ProcessorTypes,
  { type, config }: ProcessorSettings,
  foreignIn: (config: SwitchConfig) => Fault[],
): void {
  const processor = types.get(type);
  if (!processor) throw invalidValue('type', `none of ${[...types.keys()].join(', ')}`);
  const { data, error } = processor.configSchema.safeParse(config);
  const faults = error ? error.issues.flatMap(faultsIn) : [...contradictionsIn(processor, data), ...foreignIn(data)];
  if (faults.length === 0) return;
  throw invalidValues(faults.map(({ path, detail }) => ({ path: ['config', ...path], detail })));
}

/** What each setting allows and the line does not: found here, it does not wait for the next start of a worker. */
function contradictionsIn(processor: Processor, { addresses, accept, tls, macKeys, ...rest }: SwitchConfig): Fault[] {
  const headerBytes = (rest.transportHeader?.length ?? 0) / 2;
  const rules: readonly Rule[] = [
    [addresses.length === 0 && !accept, 'addresses', 'neither addresses nor accept: there would be no line'],
    [(tls?.certFile === undefined) !== (tls?.keyFile === undefined), 'tls', 'certFile and keyFile go together'],
    [accept !== undefined && tls !== undefined && !tls.certFile, 'tls', 'accept needs certFile and keyFile'],
    [macKeys !== undefined && !processor.mac, 'macKeys', 'messages of this type carry no MAC'],
    [
      headerBytes > 0 && headerBytes !== (processor.framing.transportHeader?.length ?? 0),
      'transportHeader',
      'of another length than the type’s',
    ],
    ...keyExchangeFaults(processor, { macKeys, ...rest }).map((fault) => [true, 'keyExchange', fault] as const),
  ];
  return brokenRules(rules);
}

/** A name that the schema does not have is told at that name, not at the object around it. */
function faultsIn(issue: z.core.$ZodIssue): Fault[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, detail: issue.message }];
  return issue.keys.map((key) => ({ path: [...issue.path, key], detail: 'there is no such setting' }));
}

/**
 * Whether a tap can ever fit: a currency or a scheme that no card has would make a route that nobody takes.
 *
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault
 */
export function checkRouteSettings({ currency, scheme }: RouteSettings): void {
  const faults: Fault[] = [];
  if (currency !== null && !findCurrency(currency)) {
    faults.push({ path: ['currency'], detail: 'no currency of ISO 4217' });
  }
  if (scheme !== null && !SCHEMES.has(scheme)) {
    faults.push({ path: ['scheme'], detail: `none of ${[...SCHEMES].join(', ')}` });
  }
  if (faults.length > 0) throw invalidValues(faults);
}
