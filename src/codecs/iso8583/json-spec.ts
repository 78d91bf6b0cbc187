import { z } from 'zod';
import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { MAX_DEPTH } from './compile-field.ts';
import type { BinaryEncoding, Content, Field, PrefixEncoding, TextEncoding } from './rows.ts';
import { defineSpec, extendSpec, type Spec } from './spec.ts';

/**
 * The JSON form of a spec, with the same axes as the code form, so that a dialect can be defined without code. A
 * field's `type` is its content in the letters of the standard, or the kind of composite. Its size is a `length`, or
 * a `max` (and `min`) with a `prefix`.
 */
const textEncoding = z.enum([
  'ascii',
  'cp500',
  'cp1047',
  'bcd',
  'bcd-right',
  'x+bcd',
]) satisfies z.ZodType<TextEncoding>;
const binaryEncoding = z.enum(['binary', 'hex', 'hex-lower', 'ebcdic-hex']) satisfies z.ZodType<BinaryEncoding>;
const prefixEncoding = z.enum(['ascii', 'bcd', 'ebcdic', 'binary', 'hex']) satisfies z.ZodType<PrefixEncoding>;
const content = z.enum([
  'n',
  'a',
  'an',
  'anp',
  'ns',
  'as',
  'ans',
  'z',
  'x+n',
  '+n',
  'any',
]) satisfies z.ZodType<Content>;
const unit = z.enum(['bytes', 'digits', 'nibbles']);
const size = z.int().min(0).max(999_999);
const number = z.string().regex(/^[1-9][0-9]{0,2}$/);

const prefix = z.union([
  z.enum(['L', 'LL', 'LLL', 'LLLL', 'LLLLL', 'LLLLLL']),
  z.strictObject({ digits: z.int().min(1).max(6), encoding: prefixEncoding.exclude(['binary']) }),
  z.strictObject({ bytes: z.int().min(1).max(3), encoding: z.enum(['binary', 'binary-le']) }),
]);
const byte = z.int().min(0).max(255);
const end = z.union([z.literal('rest'), z.strictObject({ until: byte }), z.strictObject({ lengthOffset: byte })]);

const row = {
  name: z.string(),
  title: z.string().max(80).optional(),
  safe: z.boolean().optional(),
  emvTag: z
    .string()
    .regex(/^([0-9A-F]{2}){1,3}$/)
    .transform((tag) => Number.parseInt(tag, 16))
    .optional(),
  length: size.optional(),
  min: size.optional(),
  max: size.optional(),
  prefix: prefix.optional(),
  end: end.optional(),
};

const leaves = [
  z.strictObject({
    ...row,
    type: content,
    encoding: textEncoding.optional(),
    unit: unit.optional(),
    fill: z.enum(['0', 'F']).optional(),
    pad: z
      .strictObject({ side: z.enum(['left', 'right']), with: z.string().length(1), strip: z.boolean().optional() })
      .optional(),
  }),
  z.strictObject({ ...row, type: z.literal('b'), encoding: binaryEncoding.optional(), unit: unit.optional() }),
  z.strictObject({
    ...row,
    type: z.literal('tlv'),
    encoding: binaryEncoding.optional(),
    allow: z.array(z.string().regex(/^([0-9A-F]{2}){1,3}$/)).optional(),
    onBadChild: z.enum(['refuse', 'opaque']).optional(),
  }),
] as const;

/** Rows down to a depth: deeper JSON is refused without being parsed. */
function fieldSchema(depth: number): z.ZodType<Field> {
  const inner = depth === MAX_DEPTH ? z.never() : fieldSchema(depth + 1);
  const composites = [
    z.strictObject({ ...row, type: z.literal('positional'), separator: byte.optional(), fields: z.array(inner) }),
    z.strictObject({
      ...row,
      type: z.literal('tagged'),
      tag: z.strictObject({ encoding: z.enum(['ascii', 'ebcdic', 'bcd', 'binary']), length: z.int() }),
      elementPrefix: prefix,
      first: z.enum(['tag', 'length']).optional(),
      lengthCounts: z.array(z.enum(['tag', 'length'])).optional(),
      unknown: z.enum(['refuse', 'keep']).optional(),
      fields: z.record(z.string(), inner),
    }),
    z.strictObject({
      ...row,
      type: z.literal('bitmapped'),
      bitmap: z.strictObject({
        bytes: z.int().min(1).max(24),
        encoding: binaryEncoding.optional(),
        form: z.enum(['fixed', 'chained']).optional(),
      }),
      fields: z.record(number, inner),
    }),
    z.strictObject({ ...row, type: z.literal('dataset'), fields: z.record(number, inner) }),
  ] as const;
  return z.discriminatedUnion('type', [...leaves, ...composites]).transform(toField);
}

const mtiPattern = z.string().regex(/^[0-9x]{4}$/);
const fieldPath = z.union([z.int(), z.string()]);
const condition = z.strictObject({
  field: fieldPath,
  present: z.boolean().optional(),
  matches: z.string().optional(),
});
const rule = z.strictObject({
  mti: mtiPattern.optional(),
  processingCode: z
    .string()
    .regex(/^[0-9x]{6}$/)
    .optional(),
  when: z.array(condition).optional(),
  required: z.array(fieldPath).optional(),
  forbidden: z.array(fieldPath).optional(),
});

const shape = {
  name: z.string().min(1).max(80),
  headerBytes: z.union([byte, z.strictObject({ lengthOffset: byte, min: byte, max: byte })]).optional(),
  mti: z.strictObject({ encoding: textEncoding }),
  bitmap: z.strictObject({
    encoding: binaryEncoding,
    form: z.enum(['chained', 'fixed']).optional(),
    blocks: z.int().min(1).max(3).optional(),
    thirdAt: z.literal([65, 128]).optional(),
  }),
  encodings: z
    .strictObject({
      text: textEncoding,
      digits: textEncoding,
      signed: textEncoding,
      binary: binaryEncoding,
      prefix: prefixEncoding,
    })
    .partial()
    .optional(),
  rules: z.array(rule).optional(),
  layouts: z.array(z.strictObject({ mti: mtiPattern, fields: z.record(number, fieldSchema(1).nullable()) })).optional(),
};

const wholeSpec = z.strictObject({ ...shape, fields: z.record(number, fieldSchema(1)) });

const changedSpec = z.strictObject({
  ...z.strictObject(shape).partial({ mti: true, bitmap: true }).shape,
  extends: z.string(),
  fields: z.record(number, fieldSchema(1).nullable()).optional(),
});

/**
 * Parses a spec from its JSON form. `compileSpec` checks whether its parts fit together.
 *
 * @throws {Iso8583Error} SPEC_INVALID, with the path of the first fault
 */
export function parseSpec(
  json: unknown,
  {
    find,
  }: {
    /** Finds the spec that another one extends, using its name. */
    readonly find?: (name: string) => Spec | undefined;
  } = {},
): Spec {
  const isChange = typeof json === 'object' && json !== null && 'extends' in json;
  const parsed = (isChange ? changedSpec : wholeSpec).safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Iso8583Error('SPEC_INVALID', issue!.path.join('.') || 'spec', 0, issue!.message);
  }
  if (!('extends' in parsed.data)) return defineSpec(parsed.data);
  const { extends: baseName, ...changes } = parsed.data;
  const base = find?.(baseName);
  if (base === undefined) throw new Iso8583Error('SPEC_INVALID', 'extends', 0, `no spec is called ${baseName}`);
  return extendSpec(base, changes);
}

type JsonRow = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly length?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly prefix?: unknown;
};

function toField({ type, length, min, max, ...rest }: JsonRow, context: z.RefinementCtx): Field {
  if ((length === undefined) === (max === undefined) || (length !== undefined && min !== undefined)) {
    context.addIssue({ code: 'custom', message: 'a size is a `length`, or a `max` with or without a `min`' });
    return z.NEVER;
  }
  const most = (length ?? max)!;
  const least = length ?? min ?? 0;
  const field = { ...rest, min: least, max: most };
  if (content.safeParse(type).success) return { ...field, kind: 'text', content: type } as unknown as Field;
  if (type === 'b') return { ...field, kind: 'binary' } as unknown as Field;
  if (type !== 'tlv') return { ...field, kind: type } as unknown as Field;
  const allow = (rest.allow as readonly string[] | undefined)?.map((tag) => Number.parseInt(tag, 16));
  return { ...field, kind: 'tlv', allow } as unknown as Field;
}
