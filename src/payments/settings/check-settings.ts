import type { z } from 'zod';
import type { ProcessorSettings, RouteSettings } from '#schemas/admin-routing';
import type { NewMerchant } from '#schemas/admin-tenants';
import type { ProfileReader } from '#schemas/terminal-profile';
import { brokenRules, type Fault, invalidValue, invalidValues, type Rule } from '../../basics/errors.ts';
import { SCHEMES } from '../../codecs/emv/scheme.ts';
import { keyExchangeFaults } from '../../kits/processor-kit/key-change.ts';
import { terminalScopeFault } from '../../kits/processor-kit/message-identity.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { ReaderFormats } from '../../kits/reader-kit/load-readers.ts';
import { findCountry } from '../model/countries.ts';
import { type Currency, findCurrency } from '../model/money.ts';

/** What decides whether a terminal profile may name a reader format. */
export interface ReaderRules {
  readonly formats: ReaderFormats;
  /** Whether the acquirer may use the key of the HSM. */
  readonly mayUse: (acquirerId: number, keyId: string) => boolean;
}

/** Why a profile of the acquirer may not have this reader; empty if it may. */
export function readerFaults(
  rules: ReaderRules,
  acquirerId: number,
  { format: name, settings }: ProfileReader,
): Fault[] {
  const format = rules.formats.get(name);
  if (!format) return [{ path: ['format'], detail: `must be one of ${[...rules.formats.keys()].join(', ')}` }];
  const { data, error } = format.settingsSchema.safeParse(settings);
  if (error) return error.issues.map(({ path, message }) => ({ path: ['settings', ...path], detail: message }));
  const foreign = format.keysNamedBy(data).filter(({ keyId }) => !rules.mayUse(acquirerId, keyId));
  return foreign.map(({ path }) => ({
    path: ['settings', ...path],
    detail: 'a key that is not of this acquirer (its own are acquirer/<id>/..., others are in SWITCH_KEYS)',
  }));
}

/** @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault */
export function checkReader(rules: ReaderRules, acquirerId: number, reader: ProfileReader | null | undefined): void {
  const faults = reader ? readerFaults(rules, acquirerId, reader) : [];
  if (faults.length > 0) throw invalidValues(faults.map(({ path, detail }) => ({ path: ['reader', ...path], detail })));
}

/**
 * Checks that a merchant's country and time zone exist, and that its fee is an amount in its currency.
 *
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault
 */
export function checkMerchant({
  currency,
  country,
  timeZone,
  fee,
}: Pick<NewMerchant, 'currency' | 'country' | 'timeZone' | 'fee'>): void {
  const known = findCurrency(currency);
  const faults = brokenRules([
    [!known, 'currency', 'must be a currency of ISO 4217'],
    [!findCountry(country), 'country', 'must be a country of ISO 3166-1'],
    [!isTimeZone(timeZone), 'timeZone', 'must be a time zone of the IANA database'],
    [
      known !== undefined && fee !== null && !isAmount(fee, known),
      'fee',
      'must not have more decimals than the currency',
    ],
  ]);
  if (faults.length > 0) throw invalidValues(faults);
}

/** Also false for numbers that JavaScript writes with an exponent, such as `1e-10`: no currency has so small a unit. */
function isAmount(fee: number, currency: Currency): boolean {
  const plain = /^\d+(?:\.(\d+))?$/.exec(String(fee));
  return plain !== null && (plain[1] ?? '').length <= currency.exponent;
}

/** Accepts names only. The runtime also accepts offsets (`+02:00`), which have no daylight saving time. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** The processor types of this installation, keyed by name. */
export type ProcessorTypes = ReadonlyMap<string, Processor>;

/**
 * Checks that a processor can run with the settings that are to be stored: its type exists, and the type accepts the
 * configuration.
 *
 * @param foreignIn finds values in the configuration that do not belong to its acquirer
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault
 */
export function checkProcessorSettings(
  types: ProcessorTypes,
  { type, config }: ProcessorSettings,
  foreignIn: (config: SwitchConfig) => Fault[],
): void {
  const processor = types.get(type);
  if (!processor) throw invalidValue('type', `must be one of ${[...types.keys()].join(', ')}`);
  const { data, error } = processor.configSchema.safeParse(config);
  const faults = error
    ? error.issues.flatMap(faultsIn)
    : [...contradictionsIn(processor, data), ...stanScopeFaults(processor, data), ...foreignIn(data)];
  if (faults.length === 0) return;
  throw invalidValues(faults.map(({ path, detail }) => ({ path: ['config', ...path], detail })));
}

/**
 * Finds settings that are valid alone and contradict each other. Without this check, the next start of a worker
 * would find them.
 */
function contradictionsIn(processor: Processor, { addresses, accept, tls, macKeys, ...rest }: SwitchConfig): Fault[] {
  const headerBytes = (rest.transportHeader?.length ?? 0) / 2;
  const rules: readonly Rule[] = [
    [addresses.length === 0 && !accept, 'addresses', 'must contain an address, or accept must be set'],
    [
      (tls?.certFile === undefined) !== (tls?.keyFile === undefined),
      'tls',
      'must contain both certFile and keyFile, or neither',
    ],
    [
      accept !== undefined && tls !== undefined && !tls.certFile,
      'tls',
      'must contain certFile and keyFile because accept is set',
    ],
    // Anything that reaches the port would be the switch: it would get card data and approve taps.
    [
      accept !== undefined && accept.from === undefined && !tls?.caFile,
      'accept',
      'must contain from, the addresses of the switch, or tls must contain caFile',
    ],
    [rest.macAlgorithm !== undefined && macKeys === undefined, 'macAlgorithm', 'not allowed without macKeys'],
    [macKeys !== undefined && !processor.mac, 'macKeys', 'not allowed: messages of this processor type carry no MAC'],
    [
      headerBytes > 0 && headerBytes !== (processor.framing.transportHeader?.bytes.length ?? 0),
      'transportHeader',
      'must have the length that the processor type requires',
    ],
    ...keyExchangeFaults(processor, { macKeys, ...rest }).map((fault) => [true, 'keyExchange', fault] as const),
  ];
  return brokenRules(rules);
}

/** Two tills must never send a switch the same reference. */
function stanScopeFaults(processor: Processor, config: SwitchConfig): Fault[] {
  const detail = config.profile?.stanScope === 'terminal' ? terminalScopeFault(processor, config) : undefined;
  return detail === undefined ? [] : [{ path: ['profile', 'stanScope'], detail }];
}

/** An unknown name is reported at that name, not at the object that contains it. */
function faultsIn(issue: z.core.$ZodIssue): Fault[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, detail: issue.message }];
  return issue.keys.map((key) => ({ path: [...issue.path, key], detail: 'unknown setting' }));
}

/**
 * Checks that a tap can match the route: no tap matches an unknown currency or scheme.
 *
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault
 */
export function checkRouteSettings({ currency, scheme }: RouteSettings): void {
  const faults: Fault[] = [];
  if (currency !== null && !findCurrency(currency)) {
    faults.push({ path: ['currency'], detail: 'must be a currency of ISO 4217' });
  }
  if (scheme !== null && !SCHEMES.has(scheme)) {
    faults.push({ path: ['scheme'], detail: `must be one of ${[...SCHEMES].join(', ')}` });
  }
  if (faults.length > 0) throw invalidValues(faults);
}
