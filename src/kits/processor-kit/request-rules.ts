import type { FieldTable } from '../../codecs/iso8583/rows.ts';
import { panOfTrack } from './field-values.ts';
import type { IsoMessage } from './iso-fields.ts';

/**
 * What a switch requires of the requests that it receives. The simulated switch responds to a request that breaks a
 * rule with 30, the README of the type lists the rules, and the conformance suite breaks each of them.
 */
export interface RequestRule<Message extends IsoMessage = IsoMessage> {
  /** The field by name, as the log of the simulated switch names it; `switchData.originalKey` inside another one. */
  readonly field: string;
  /** Number of the field for people, if it is inside another one: `127.11`. */
  readonly label?: string;
  /** The message types that must keep the rule. */
  readonly mtis: readonly string[];
  /** Completes the sentence "the field must ...". */
  readonly must: string;
  isKept(request: Message): boolean;
  /** Changes a request that keeps the rule into one that breaks it. */
  broken(request: Message): Message;
}

/** @returns the fields of the rules that the request breaks, each once */
export function brokenRules<Message extends IsoMessage>(
  rules: readonly RequestRule<Message>[],
  request: Message,
): string[] {
  const broken = rules.filter(({ mtis, isKept }) => mtis.includes(request.mti) && !isKept(request));
  return [...new Set(broken.map(({ field }) => field))];
}

/** Fields that must be present. */
export function presence<Message extends IsoMessage>(
  mtis: readonly string[],
  fields: readonly (keyof Message & string)[],
): RequestRule<Message>[] {
  return fields.map((field) => ({
    field,
    mtis,
    must: 'be present',
    isKept: (request) => request[field] !== undefined,
    broken: (request) => ({ ...request, [field]: undefined }),
  }));
}

/** An amount that must not be zero, if it is present: of messages that take or return money. */
export function notZero<Message extends IsoMessage>(
  mtis: readonly string[],
  field: keyof Message & string,
): RequestRule<Message> {
  return {
    field,
    mtis,
    must: 'not be zero',
    isKept: (request) => !/^0+$/.test(String(request[field] ?? '')),
    broken: (request) => ({ ...request, [field]: '0'.repeat(String(request[field]).length) }),
  };
}

/** DE2, DE35 or both identify the card; in both, the PAN is the same. `cardMtis` may have a track. */
export function panOrTrack<Message extends IsoMessage & { pan?: string | undefined; track2?: string | undefined }>(
  mtis: readonly string[],
  cardMtis: readonly string[],
): RequestRule<Message>[] {
  return [
    {
      field: 'pan',
      mtis,
      must: 'be present, or 35',
      isKept: ({ pan, track2 }) => pan !== undefined || track2 !== undefined,
      broken: (request) => ({ ...request, pan: undefined, track2: undefined }),
    },
    {
      field: 'pan',
      mtis: cardMtis,
      must: 'be the PAN of 35, if both are present',
      isKept: ({ pan, track2 }) => pan === undefined || track2 === undefined || pan === panOfTrack(track2),
      broken: (request) => ({ ...request, pan: '5413330089010640', track2: '4111111111111111D30122010000000000000' }),
    },
  ];
}

/** Parts of a date or time in the order of their digits. A date without a year may be 29 February. */
export type DateForm = 'YYMMDDhhmmss' | 'MMDDhhmmss' | 'hhmmss' | 'YYMMDD' | 'MMDD' | 'YYMM';

const PATTERNS: Readonly<Record<DateForm, RegExp>> = {
  YYMMDDhhmmss: /^(?<year>\d\d)(?<month>\d\d)(?<day>\d\d)(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)$/,
  MMDDhhmmss: /^(?<month>\d\d)(?<day>\d\d)(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)$/,
  hhmmss: /^(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)$/,
  YYMMDD: /^(?<year>\d\d)(?<month>\d\d)(?<day>\d\d)$/,
  MMDD: /^(?<month>\d\d)(?<day>\d\d)$/,
  YYMM: /^\d\d(?<month>\d\d)$/,
};
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A field that must be a date or time that exists, if it is present. */
export function moment<Message extends IsoMessage>(
  mtis: readonly string[],
  field: keyof Message & string,
  form: DateForm,
): RequestRule<Message> {
  return {
    field,
    mtis,
    must: `exist as ${form}`,
    isKept: (request) => request[field] === undefined || isMoment(String(request[field]), form),
    broken: (request) => ({ ...request, [field]: '9'.repeat(form.length) }),
  };
}

/** Whether the digits are a date or time that exists. */
export function isMoment(digits: string, form: DateForm): boolean {
  const groups = PATTERNS[form].exec(digits)?.groups;
  if (!groups) return false;
  const { year = '0', month = '1', day = '1', hour = '0', minute = '0', second = '0' } = groups;
  // Of the years 2000 to 2099, each fourth is a leap year.
  const days = month === '02' && Number(year) % 4 !== 0 ? 28 : DAYS[Number(month) - 1];
  if (days === undefined || Number(day) < 1 || Number(day) > days) return false;
  return Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}

/** The rules as a Markdown table: which field must keep which rule in which messages. */
export function ruleTable(rules: readonly RequestRule[], fields: FieldTable): string {
  const numbers = new Map(Object.entries(fields).map(([number, { name }]) => [name, number]));
  const rows = new Map<string, { readonly fields: string[]; readonly mtis: string; readonly must: string }>();
  for (const { field, label = numbers.get(field), mtis, must } of rules) {
    const key = `${mtis.join(' ')}|${must}`;
    const row = rows.get(key) ?? { fields: [], mtis: mtis.join(' '), must };
    row.fields.push(label ?? field);
    rows.set(key, row);
  }
  const lines = [...rows.values()].map((row) => `| ${row.fields.join(' ')} | ${row.mtis} | ${row.must} |`);
  return ['| DE | in | must |', '|---|---|---|', ...lines].join('\n');
}
