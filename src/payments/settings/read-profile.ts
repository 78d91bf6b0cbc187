import type { NewTerminalProfile, TerminalProfileChange, TerminalProfileSettings } from '#schemas/terminal-profile';
import { invalidValues, TlvError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import { isTag } from '../../codecs/emv/tag-number.ts';
import { type TagFacts, tagMeanings } from '../../codecs/emv/tags.ts';
import { indexTlv, isConstructed } from '../../codecs/emv/tlv.ts';
import { findCountry } from '../model/countries.ts';
import { findCurrency } from '../model/money.ts';
import { type KernelOverride, PROFILE_TAGS, type TlvEntry, type TypeConfig } from '../model/terminal-profile.ts';

type Path = readonly (string | number)[];
type Faults = { readonly path: Path; readonly detail: string }[];
type SimpleEntry = NonNullable<NewTerminalProfile['configList']>[number];

/** DF8123 is n12 (EMV Book C-2, Annex A). */
const FLOOR_LIMIT_DIGITS = 12;
const NO_CURRENCY = 'must be a currency of ISO 4217';
const NO_COUNTRY = 'must be a country of ISO 3166';

/**
 * Converts the body of a creation, in either format, into the canonical one.
 *
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault: an unknown currency or country, an
 * unknown EMV tag, a value that its tag cannot have, card data, a duplicate
 */
export function readNewProfile({ configList, ...body }: Omit<NewTerminalProfile, 'name'>): TerminalProfileSettings {
  if (configList === undefined) {
    const { reader, ...read } = readProfileChange(body);
    return { overrides: [], ...read, ...(reader && { reader }) };
  }
  const faults: Faults = [];
  const currency = readCurrency(body.terminalCurrencyCode, ['terminalCurrencyCode'], faults);
  const overrides = configList.map((entry, at) => readSimple(entry, ['configList', at], faults));
  reportRepeats(overrides, 'configList', 'config', faults);
  if (faults.length > 0) throw invalidValues(faults);
  const { reader } = body;
  return { ...(currency !== undefined && { terminalCurrencyCode: currency }), ...(reader && { reader }), overrides };
}

/** The settings to change; a reader of null stands for the default format. */
export type ProfileChange = Partial<Omit<TerminalProfileSettings, 'reader'>> & {
  readonly reader?: TerminalProfileSettings['reader'] | null;
};

/**
 * Converts the body of an update: the properties that it contains, in the canonical form.
 *
 * @throws RequestRejected as above
 */
export function readProfileChange(body: TerminalProfileChange): ProfileChange {
  const faults: Faults = [];
  const currency = readCurrency(body.terminalCurrencyCode, ['terminalCurrencyCode'], faults);
  const overrides = body.overrides?.map((override, at) => readOverride(override, ['overrides', at], faults));
  reportRepeats(overrides ?? [], 'overrides', 'transactionTypeConfigs', faults);
  if (faults.length > 0) throw invalidValues(faults);
  const { reader } = body;
  return {
    ...(currency !== undefined && { terminalCurrencyCode: currency }),
    ...(reader !== undefined && { reader }),
    ...(overrides && { overrides }),
  };
}

function readOverride(given: KernelOverride, path: Path, faults: Faults): KernelOverride {
  const kernel = kernelOf(given);
  if (given.remove) return { ...kernel, remove: true };
  const readType = ({ transactionType, remove, tlvDatabase = [] }: TypeConfig, at: number): TypeConfig => {
    if (remove) return { transactionType, remove };
    const place = [...path, 'transactionTypeConfigs', at, 'tlvDatabase'];
    return { transactionType, tlvDatabase: tlvDatabase.map((tlv, index) => readTlv(tlv, [...place, index], faults)) };
  };
  return { ...kernel, transactionTypeConfigs: (given.transactionTypeConfigs ?? []).map(readType) };
}

function readSimple({ config, ...kernel }: SimpleEntry, path: Path, faults: Faults): KernelOverride {
  const transactionTypeConfigs = config.map(({ transactionType, countryCode, currencyCode, floorLimit }, at) => {
    const country = readCountry(countryCode, [...path, 'config', at, 'countryCode'], faults);
    const currency = readCurrency(currencyCode, [...path, 'config', at, 'currencyCode'], faults);
    const values: readonly (readonly [tag: string, value: string | undefined])[] = [
      [PROFILE_TAGS.country, country && `0${country}`],
      [PROFILE_TAGS.currency, currency && `0${currency}`],
      [PROFILE_TAGS.floorLimit, floorLimit?.padStart(FLOOR_LIMIT_DIGITS, '0')],
    ];
    return { transactionType, tlvDatabase: values.flatMap(([tag, value]) => (value ? [{ tag, value }] : [])) };
  });
  return { ...kernelOf(kernel), transactionTypeConfigs };
}

function kernelOf({ aid, kernelID }: { aid: string; kernelID: string }): Pick<KernelOverride, 'aid' | 'kernelID'> {
  return { aid: aid.toUpperCase(), kernelID: kernelID.toUpperCase().padStart(2, '0') };
}

function readCurrency(code: string | undefined, path: Path, faults: Faults): string | undefined {
  if (code === undefined) return undefined;
  const found = findCurrency(withoutZero(code).toUpperCase());
  if (!found) faults.push({ path, detail: NO_CURRENCY });
  return found?.numeric;
}

function readCountry(code: string | undefined, path: Path, faults: Faults): string | undefined {
  if (code === undefined) return undefined;
  const found = findCountry(withoutZero(code).toUpperCase());
  if (!found) faults.push({ path, detail: NO_COUNTRY });
  return found?.numeric;
}

/** A code of three digits may arrive as the four digits of its tag. */
function withoutZero(code: string): string {
  return /^0\d{3}$/.test(code) ? code.slice(1) : code;
}

function readTlv({ tag: given, value: hex, remove }: TlvEntry, path: Path, faults: Faults): TlvEntry {
  const tag = given.toUpperCase();
  const number = Number.parseInt(tag, 16);
  const detail = tag.startsWith('00') || !isTag(number) ? 'must be an EMV tag' : cardDataFault(number);
  if (detail !== undefined) faults.push({ path: [...path, 'tag'], detail });
  if (remove || hex === undefined) return { tag, remove: true };
  const value = hex.toUpperCase();
  const fault = detail === undefined ? valueFault(tag, number, value) : undefined;
  if (fault !== undefined) faults.push({ path: [...path, 'value'], detail: fault });
  return { tag, value };
}

/**
 * A profile is displayed, kept in the audit trail of settings and sent to readers, so it must not contain card data.
 */
function cardDataFault(tag: number): string | undefined {
  return tagMeanings(tag).some(({ secrecy }) => secrecy !== undefined) ? 'must not contain card data' : undefined;
}

function valueFault(tag: string, number: number, value: string): string | undefined {
  if (tag === PROFILE_TAGS.currency) return isCodeOf(findCurrency, value) ? undefined : NO_CURRENCY;
  if (tag === PROFILE_TAGS.country) return isCodeOf(findCountry, value) ? undefined : NO_COUNTRY;
  if (isConstructed(number)) return templateFault(value);
  const meanings = tagMeanings(number);
  if (meanings.length > 0 && !meanings.some((meaning) => fits(meaning, value)))
    return 'must be a valid value of this tag';
  return undefined;
}

function isCodeOf(find: (code: string) => unknown, value: string): boolean {
  return /^0\d{3}$/.test(value) && find(value.slice(1)) !== undefined;
}

function templateFault(value: string): string | undefined {
  try {
    const inside = [...indexTlv(fromHex(value))];
    return inside.some(({ tag }) => cardDataFault(tag)) ? 'must not contain card data' : undefined;
  } catch (error) {
    if (error instanceof TlvError) return 'must contain valid data objects';
    throw error;
  }
}

/**
 * Whether the length of a value matches one meaning of its tag, and the value has digits if that meaning requires
 * them.
 */
function fits({ format, min = 0, max = Number.POSITIVE_INFINITY }: TagFacts, value: string): boolean {
  const lengthBytes = value.length / 2;
  return lengthBytes >= min && lengthBytes <= max && (format !== 'n' || /^\d*$/.test(value));
}

/** If the same application, transaction type or tag occurs twice, it is undefined which one applies. */
function reportRepeats(overrides: readonly KernelOverride[], list: string, types: string, faults: Faults): void {
  reportTwice(overrides, ({ aid, kernelID }) => `${aid} ${kernelID}`, [list], faults);
  for (const [at, { transactionTypeConfigs = [] }] of overrides.entries()) {
    const place = [list, at, types];
    reportTwice(transactionTypeConfigs, ({ transactionType }) => transactionType, place, faults);
    for (const [index, { tlvDatabase = [] }] of transactionTypeConfigs.entries()) {
      reportTwice(tlvDatabase, ({ tag }) => tag, [...place, index, 'tlvDatabase'], faults);
    }
  }
}

function reportTwice<Item>(items: readonly Item[], keyOf: (item: Item) => string, path: Path, faults: Faults): void {
  const seen = new Set<string>();
  for (const [at, item] of items.entries()) {
    if (seen.has(keyOf(item))) faults.push({ path: [...path, at], detail: 'must not occur twice' });
    seen.add(keyOf(item));
  }
}
