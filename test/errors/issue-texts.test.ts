import { expect, test } from 'vitest';
import { z } from 'zod';
import '../../src/basics/errors.ts';

type Code = z.core.$ZodIssue['code'];
type Case = readonly [schema: z.ZodType, given: unknown, text: string];

/** For each code of zod a value that it refuses, and the text. */
const CASES: Readonly<Record<Code, readonly Case[]>> = {
  invalid_type: [
    [z.string(), 7, 'must be a string'],
    [z.string(), undefined, 'is required'],
    [z.number(), Number.NaN, 'must be a number'],
    [z.int(), 1.5, 'must be an integer'],
    [z.boolean(), 'yes', 'must be true or false'],
    [z.array(z.string()), {}, 'must be a list'],
    [z.object({}), [], 'must be an object'],
    [z.record(z.string(), z.string()), 7, 'must be an object'],
    [z.null(), 7, 'must be null'],
    [z.never(), 7, 'must be absent'],
    [z.symbol(), 7, 'must be of type symbol'],
  ],
  too_small: [
    [z.string().min(1).max(36), '', 'must have 1 to 36 characters'],
    [z.string().min(1), '', 'must have at least 1 character'],
    [z.string().length(3), 'ab', 'must have exactly 3 characters'],
    [z.int().min(1).max(9), 0, 'must be 1 to 9'],
    [z.int().min(1), 0, 'must be at least 1'],
    [z.number().gt(0), 0, 'must be greater than 0'],
    [z.number().min(1).lt(9), 0, 'must be at least 1'],
    [z.array(z.string()).min(1).max(5), [], 'must have 1 to 5 elements'],
    [z.bigint().min(2n), 1n, 'must be at least 2'],
    [z.date().min(new Date(0)), new Date(-1), 'is too early'],
  ],
  too_big: [
    [z.string().min(1).max(36), 'x'.repeat(37), 'must have 1 to 36 characters'],
    [z.string().max(1), 'xy', 'must have at most 1 character'],
    [z.string().length(3), 'abcd', 'must have exactly 3 characters'],
    [z.int().max(9), 10, 'must be at most 9'],
    [z.number().lt(9), 9, 'must be less than 9'],
    [z.set(z.string()).max(1), new Set(['a', 'b']), 'must have at most 1 element'],
    [z.date().max(new Date(0)), new Date(1), 'is too late'],
  ],
  invalid_format: [
    [z.email(), 'x', 'must be an email address'],
    [z.url(), 'x', 'must be a URL'],
    [z.uuid(), 'x', 'must be a UUID'],
    [z.iso.datetime(), 'x', 'must be a date and time of ISO 8601, such as 2026-03-01T10:20:30Z'],
    [z.iso.date(), 'x', 'must be a date of ISO 8601, such as 2026-03-01'],
    [z.ipv4(), 'x', 'must be an IPv4 address'],
    [z.base64(), 'x', 'must be Base64'],
    [z.string().regex(/^\d{4}$/), 'x', 'must match /^\\d{4}$/'],
    [z.string().startsWith('whsec_'), 'x', 'must begin with "whsec_"'],
    [z.string().endsWith('.pem'), 'x', 'must end with ".pem"'],
    [z.string().includes('@'), 'x', 'must contain "@"'],
    [z.string().lowercase(), 'X', 'must be in lower case'],
  ],
  not_multiple_of: [[z.number().multipleOf(5), 7, 'must be a multiple of 5']],
  unrecognized_keys: [[z.strictObject({}), { a: 1, b: 2 }, 'contains unknown properties: a, b']],
  invalid_union: [
    [z.union([z.string(), z.number()]), true, 'has none of the allowed forms'],
    [z.union([z.string(), z.number()]), undefined, 'is required'],
    [z.xor([z.string().min(1), z.string().min(2)]), 'abc', 'matches several of the allowed forms'],
  ],
  invalid_key: [[z.record(z.string().max(1), z.string()), { long: 'x' }, 'contains a property with an invalid name']],
  invalid_element: [[z.map(z.object({}), z.string()), new Map([[{}, 7]]), 'contains an invalid element']],
  invalid_value: [
    [z.literal('a'), 'b', 'must be "a"'],
    [z.enum(['a', 'b']), 'c', 'must be one of "a", "b"'],
    [z.enum(['a', 'b']), undefined, 'is required'],
    [z.literal([1, null]), 2, 'must be one of 1, null'],
  ],
  custom: [
    [z.string().refine(() => false), 'x', 'is invalid'],
    [z.string().refine(() => false, 'must be a country'), 'x', 'must be a country'],
  ],
};

const rows = Object.entries(CASES).flatMap(([code, cases]) =>
  cases.map(([schema, given, text]) => ({ code, schema, given, text })),
);

test.each(rows)('$code: "$text"', ({ code, schema, given, text }) => {
  const { error } = z.object({ field: schema }).safeParse({ field: given });
  expect(error!.issues.map(({ code, path, message }) => [code, path[0], message])).toEqual([[code, 'field', text]]);
});
