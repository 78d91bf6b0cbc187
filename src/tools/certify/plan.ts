import { isScalar, LineCounter, type Node, parseDocument } from 'yaml';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';
import { SAMPLE_CARDS, type SampleCardName } from '../../card/sample-tap.ts';

/** A page of evidence for each case: a person cannot read more, and a stored run of this size stays below 50 MB. */
const MAX_CASES = 2_000;
/** Two thousand long cases. */
const MAX_PLAN_BYTES = 4 * 2 ** 20;
/** Enough to correct a plan; a file of another kind would fill the terminal. */
const MAX_FAULTS = 20;
/** The fields of a message. */
const MAX_FIELDS = 256;
/** A person at the host may be on the telephone. */
const MAX_PERSON_SECONDS = 4 * 3_600;
/** A reversal is repeated for minutes; a longer wait is a step of a person. */
const MAX_FOLLOW_UP_SECONDS = 3_600;

const caseNumber = z.int().min(1).max(99_999);
const fieldPath = z.string().regex(/^[\w.]{1,64}$/, 'a number or name of a field, such as 39 or 127.25.2');
const text = z.string().min(1).max(200);
const pattern = text.refine((source) => isPattern(source), 'not a regular expression');

const expectation = z.union(
  [
    z.string().max(999),
    z.strictObject({ pattern }),
    z.strictObject({ present: z.literal(true) }),
    z.strictObject({ absent: z.literal(true) }),
    z.strictObject({
      sameAs: z.strictObject({ case: caseNumber, message: z.enum(['request', 'response']), field: fieldPath }),
    }),
  ],
  {
    error: () =>
      "expected a text in quotes, or one of { pattern: '^07' }, { present: true }, { absent: true }, { sameAs: { case, message, field } }",
  },
);
const fields = z
  .record(fieldPath, expectation)
  .refine((each) => Object.keys(each).length <= MAX_FIELDS, `at most ${MAX_FIELDS} fields`)
  .default({});

const amount = z.string().regex(/^\d{1,10}(?:\.\d{1,3})?$/, "an amount in quotes, such as '10.00'");
const cardName = z.enum(Object.keys(SAMPLE_CARDS) as [SampleCardName, ...SampleCardName[]]);
const stimulus = z.union(
  [
    z.strictObject({
      tap: z.strictObject({
        card: cardName.default('visa'),
        amount,
        currency: z.string().length(3).default('ZAR'),
        pin: z
          .string()
          .regex(/^\d{4,12}$/)
          .optional(),
      }),
    }),
    z.strictObject({ refund: z.strictObject({ of: caseNumber, amount }) }),
    z.strictObject({ void: z.strictObject({ of: caseNumber }) }),
    z.strictObject({ network: z.enum(['signOn', 'echo', 'keyChange', 'cutOver']) }),
  ],
  {
    error: () =>
      "expected one of { tap: { card, amount: '10.00', currency, pin } }, { refund: { of, amount } }, { void: { of } }, { network: signOn|echo|keyChange|cutOver }",
  },
);

const certificationCase = z.strictObject({
  number: caseNumber,
  title: text,
  do: stimulus,
  /** What the proxy does with the first response of the host. */
  fault: z.enum(['noAnswer', 'late', 'duplicate', 'cutLine']).optional(),
  request: fields,
  response: fields,
  outcome: z
    .enum(['Approved', 'Declined', 'DeclinedOffline', 'UnableToGoOnline', 'Indeterminate', 'Voided', 'PinRequired'])
    .optional(),
  followUps: z
    .array(
      z.strictObject({
        kind: z.enum(['reversal', 'completion']),
        withinSeconds: z.int().min(1).max(MAX_FOLLOW_UP_SECONDS),
        request: fields,
        response: fields,
      }),
    )
    .max(8)
    .default([]),
  /** What the operator of the host does before the case. */
  person: z.strictObject({ step: text, limitSeconds: z.int().min(1).max(MAX_PERSON_SECONDS).default(600) }).optional(),
});

const planSchema = z.strictObject({
  name: text,
  /** The processor type whose messages the fields are those of. */
  type: z.string().min(1).max(32),
  cases: z
    .array(certificationCase)
    .min(1)
    .max(
      MAX_CASES,
      `at most ${MAX_CASES} cases, so that a person can read the evidence; divide the plan into several files`,
    ),
});

export type Plan = z.output<typeof planSchema>;
export type CertificationCase = Plan['cases'][number];
export type Expectation = z.output<typeof expectation>;
export type Expectations = Readonly<Record<string, Expectation>>;

/**
 * Reads a plan.
 *
 * @throws StartError BAD_CONFIG with line, case, field and reason of each fault
 */
export function parsePlan(source: string, file: string): Plan {
  const refuse = (faults: readonly string[]): never => {
    const more = faults.length > MAX_FAULTS ? [`and ${faults.length - MAX_FAULTS} more`] : [];
    throw new StartError('BAD_CONFIG', [...faults.slice(0, MAX_FAULTS), ...more].join('\n'));
  };
  if (Buffer.byteLength(source) > MAX_PLAN_BYTES)
    return refuse([`${file}: at most ${MAX_PLAN_BYTES / 2 ** 20} MB, which is enough for ${MAX_CASES} cases`]);
  const lines = new LineCounter();
  // YAML 1.2 core: no dates and no octal numbers. Duplicate keys are errors.
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0)
    return refuse(document.errors.map(({ pos, message }) => `${file}:${lines.linePos(pos[0]).line}: ${message}`));
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch {
    return refuse([`${file}: too many aliases`]);
  }
  const lineOf = (path: readonly PropertyKey[]) => lineOfPath(document, lines, path);
  const checked = planSchema.safeParse(value);
  if (!checked.success)
    return refuse(
      checked.error.issues.map(({ path, message }) => `${file}:${lineOf(path)}: ${placeOf(value, path)}: ${message}`),
    );
  const faults = referenceFaults(checked.data);
  if (faults.length > 0)
    refuse(faults.map(({ path, why }) => `${file}:${lineOf(path)}: ${placeOf(value, path)}: ${why}`));
  return checked.data;
}

/** The cases that a case needs to have run. */
function casesNeededBy({ do: stimulus, request, response, followUps }: CertificationCase): number[] {
  const original = 'refund' in stimulus ? [stimulus.refund.of] : 'void' in stimulus ? [stimulus.void.of] : [];
  const compared = [request, response, ...followUps.flatMap((each) => [each.request, each.response])]
    .flatMap((each) => Object.values(each))
    .flatMap((each) => (typeof each === 'object' && 'sameAs' in each ? [each.sameAs.case] : []));
  return [...new Set([...original, ...compared])];
}

/** A case refers only to itself and to earlier ones, so that no references can form a cycle. */
function referenceFaults({ cases }: Plan): { path: PropertyKey[]; why: string }[] {
  const places = new Map<number, number>();
  return cases.flatMap((each, index) => {
    const path = ['cases', index, 'number'];
    const isTaken = places.has(each.number);
    if (!isTaken) places.set(each.number, index);
    const before = (number: number) => number === each.number || places.has(number);
    const original = originalOf(each);
    const sale = original === undefined ? undefined : cases[places.get(original) ?? -1];
    return [
      ...(isTaken ? [{ path, why: 'another case has this number' }] : []),
      ...casesNeededBy(each)
        .filter((number) => !before(number))
        .map((number) => ({ path, why: `it refers to case ${number}, which does not come before it` })),
      ...(original !== undefined && !(sale && sale !== each && 'tap' in sale.do)
        ? [{ path, why: `case ${original} is not an earlier tap that could be refunded or voided` }]
        : []),
    ];
  });
}

export function originalOf({ do: stimulus }: CertificationCase): number | undefined {
  if ('refund' in stimulus) return stimulus.refund.of;
  return 'void' in stimulus ? stimulus.void.of : undefined;
}

function placeOf(value: unknown, [first, index, ...rest]: readonly PropertyKey[]): string {
  if (first !== 'cases' || typeof index !== 'number')
    return [first, index].filter((part) => part !== undefined).join('.') || 'plan';
  const { number } = ((value as { cases: unknown[] }).cases[index] ?? {}) as { number?: unknown };
  const name = typeof number === 'number' ? `case ${number}` : `entry ${index + 1} of cases`;
  return rest.length === 0 ? name : `${name}, ${rest.map(String).join('.')}`;
}

/** The line of the innermost value that the path leads to. */
function lineOfPath(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly PropertyKey[],
): number {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    const range = (node as Node | null | undefined)?.range;
    if (range && (isScalar(node) || length <= path.length)) return lines.linePos(range[0]).line;
  }
  return 1;
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source, 'v');
    return true;
  } catch {
    return false;
  }
}

/**
 * The cases that `--only` names, such as `12,15-20`, in the order of the plan, and the earlier ones that they need.
 *
 * @throws StartError BAD_CONFIG
 */
export function selectCases(plan: Plan, only: string | undefined): CertificationCase[] {
  if (only === undefined) return plan.cases;
  const wanted = new Set<number>();
  for (const part of only.split(',')) {
    const [, from, to = from] = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(part) ?? [];
    const inRange = plan.cases.filter(({ number }) => number >= Number(from) && number <= Number(to));
    if (from === undefined || inRange.length === 0)
      throw new StartError('BAD_CONFIG', `--only ${part.trim()}: expected numbers of cases, such as 12,15-20`);
    for (const { number } of inRange) wanted.add(number);
  }
  for (const each of plan.cases.toReversed())
    if (wanted.has(each.number)) for (const number of casesNeededBy(each)) wanted.add(number);
  return plan.cases.filter(({ number }) => wanted.has(number));
}
