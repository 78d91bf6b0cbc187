import { z } from 'zod';

type Issue = z.core.$ZodRawIssue;
type IssueOf<Code extends Issue['code']> = Extract<Issue, { code: Code }>;

/**
 * Replaces zod's own texts in every process, so that the details of API problems and the messages of commands are in
 * plain language. A text of its own that a schema declares takes precedence.
 */
z.config({ customError: describeIssue });

/** What is wrong with a configuration, each fault as `accept.port: must be an integer`. No values. */
export function faultsByName({ issues }: z.ZodError): string[] {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

/** A message has room for the first faults of a file. */
const MAX_POINTED_FAULTS = 5;

/** What is wrong with a JSON file, each fault as `/devices/0/port must be an integer`: the first five. No values. */
export function pointedFaults({ issues }: z.ZodError): string[] {
  return issues.slice(0, MAX_POINTED_FAULTS).map(({ path, message }) => `/${path.join('/')} ${message}`);
}

/** What is wrong with a value, to follow the name of its field: "must have 1 to 36 characters". Never the value itself. */
function describeIssue(issue: Issue): string {
  if (issue.input === undefined && IF_MISSING.has(issue.code)) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(quoted).join(', ')}`;
    case 'invalid_format':
      return formatText(issue);
    case 'too_small':
    case 'too_big':
      return sizeText(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `contains unknown properties: ${issue.keys.join(', ')}`;
    case 'invalid_union':
      return issue.inclusive === false ? 'matches several of the allowed forms' : 'has none of the allowed forms';
    case 'invalid_key':
      return 'contains a property with an invalid name';
    case 'invalid_element':
      return 'contains an invalid element';
    default:
      return 'is invalid';
  }
}

/** Issues that zod also reports for a property that does not exist. */
const IF_MISSING: ReadonlySet<Issue['code']> = new Set(['invalid_type', 'invalid_value', 'invalid_union']);

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  bigint: 'an integer',
  null: 'null',
  undefined: 'absent',
  never: 'absent',
  date: 'a date',
  array: 'a list',
  tuple: 'a list',
  set: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL',
  uuid: 'a UUID',
  guid: 'a UUID',
  datetime: 'a date and time of ISO 8601, such as 2026-03-01T10:20:30Z',
  date: 'a date of ISO 8601, such as 2026-03-01',
  time: 'a time of ISO 8601, such as 10:20:30',
  duration: 'a duration of ISO 8601, such as PT10M',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  cidrv4: 'a range of IPv4 addresses, such as 192.0.2.0/24',
  cidrv6: 'a range of IPv6 addresses, such as 2001:db8::/32',
  base64: 'Base64',
  base64url: 'base64url',
  json_string: 'JSON',
  jwt: 'a JWT',
  e164: 'a telephone number with country code, such as +27215550100',
  lowercase: 'in lower case',
  uppercase: 'in upper case',
};

function formatText(issue: IssueOf<'invalid_format'>): string {
  const { format, prefix, suffix, includes, pattern } = issue as Readonly<Record<string, unknown>> & { format: string };
  if (format === 'starts_with') return `must begin with ${quoted(prefix)}`;
  if (format === 'ends_with') return `must end with ${quoted(suffix)}`;
  if (format === 'includes') return `must contain ${quoted(includes)}`;
  const known = FORMATS[format];
  if (known !== undefined) return `must be ${known}`;
  return pattern === undefined ? 'has an invalid format' : `must match ${pattern}`;
}

/** The allowed sizes of a value; undefined for no limit. */
interface Bounds {
  readonly least: number | bigint | undefined;
  readonly most: number | bigint | undefined;
}

function sizeText(issue: IssueOf<'too_small' | 'too_big'>): string {
  const unit = UNITS[issue.origin];
  const { least, most } = boundsOf(issue);
  if (issue.origin === 'date') return issue.code === 'too_small' ? 'is too early' : 'is too late';
  if (issue.inclusive === false) {
    return issue.code === 'too_small' ? `must be greater than ${least}` : `must be less than ${most}`;
  }
  const verb = unit === undefined ? 'be' : 'have';
  return `must ${verb} ${rangeText({ least, most }, unit)}`;
}

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['element', 'elements'],
  set: ['element', 'elements'],
  object: ['property', 'properties'],
  record: ['property', 'properties'],
  map: ['property', 'properties'],
  file: ['byte', 'bytes'],
};

function rangeText({ least, most }: Bounds, unit: readonly [one: string, many: string] | undefined): string {
  const counted = (count: number | bigint | undefined) =>
    unit === undefined ? String(count) : `${count} ${unit[Number(count) === 1 ? 0 : 1]}`;
  if (least === undefined) return `at most ${counted(most)}`;
  if (most === undefined) return `at least ${counted(least)}`;
  return least === most ? `exactly ${counted(least)}` : `${least} to ${counted(most)}`;
}

/** Both bounds of the schema, although the value breaks only one of them. */
function boundsOf(issue: IssueOf<'too_small' | 'too_big'>): Bounds {
  const checks = (issue.schema?._zod.def.checks ?? []).map(({ _zod }) => _zod.def as SizeCheck);
  const least = checks.map(({ check, minimum, value, inclusive }) =>
    check === 'greater_than' && inclusive ? value : minimum,
  );
  const most = checks.map(({ check, maximum, value, inclusive }) =>
    check === 'less_than' && inclusive ? value : maximum,
  );
  const only = (bounds: readonly (number | undefined)[]) => bounds.find((bound) => bound !== undefined);
  return issue.code === 'too_small'
    ? { least: issue.minimum, most: issue.exact ? issue.minimum : only(most) }
    : { least: issue.exact ? issue.maximum : only(least), most: issue.maximum };
}

/** The properties of zod's checks of size. */
interface SizeCheck {
  readonly check: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly value?: number;
  readonly inclusive?: boolean;
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}
