import { readFileSync } from 'node:fs';

interface Shape {
  readonly type: string;
  readonly union?: boolean;
  readonly required?: readonly string[];
  readonly members?: Readonly<Record<string, string>>;
  readonly locations?: Readonly<Record<string, string>>;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
}

interface Plane {
  readonly targetPrefix: string | null;
  readonly operations: Readonly<
    Record<string, { readonly path: string; readonly input: string; readonly errors: readonly string[] }>
  >;
  readonly shapes: Readonly<Record<string, Shape>>;
}

/**
 * Names, patterns and limits of the operations that the gateway uses, from the API models of AWS Payment Cryptography that
 * botocore 1.44.5 contains (payment-cryptography-data 2022-02-03, payment-cryptography 2021-09-14).
 */
export const MODEL = JSON.parse(readFileSync(new URL('./model.json', import.meta.url), 'utf8')) as Record<
  'data' | 'control',
  Plane
>;

/** What is wrong with the input of an operation; empty if its model allows it. */
export function inputFaults(plane: 'data' | 'control', operation: string, input: unknown): string[] {
  const { operations, shapes } = MODEL[plane];
  return faultsOf(shapes, operations[operation]!.input, input, operation);
}

function faultsOf(shapes: Plane['shapes'], name: string, value: unknown, at: string): string[] {
  const shape = shapes[name]!;
  if (shape.type === 'structure') return faultsOfStructure(shapes, shape, value, at);
  if (shape.type === 'boolean') return typeof value === 'boolean' ? [] : [`${at}: not a boolean`];
  if (shape.type === 'integer') return inRange(shape, value as number) ? [] : [`${at}: not in range`];
  if (typeof value !== 'string') return [`${at}: not a text`];
  const isFit =
    inRange(shape, value.length) &&
    (shape.enum?.includes(value) ?? true) &&
    (shape.pattern === undefined || new RegExp(`^(?:${shape.pattern})$`).test(value));
  return isFit ? [] : [`${at}: does not fit ${name}`];
}

function faultsOfStructure(shapes: Plane['shapes'], shape: Shape, value: unknown, at: string): string[] {
  if (typeof value !== 'object' || value === null) return [`${at}: not an object`];
  const given = Object.entries(value);
  const missing = (shape.required ?? [])
    .filter((member) => !(member in value))
    .map((member) => `${at}.${member}: missing`);
  const many = shape.union && given.length !== 1 ? [`${at}: a union of ${given.length} members`] : [];
  const inner = given.flatMap(([member, each]) => {
    const target = shape.members?.[member];
    return target === undefined ? [`${at}.${member}: unknown`] : faultsOf(shapes, target, each, `${at}.${member}`);
  });
  return [...missing, ...many, ...inner];
}

function inRange({ min = 0, max = Number.POSITIVE_INFINITY }: Shape, value: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
