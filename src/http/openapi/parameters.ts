import { z } from 'zod';
import type { KnownRoute } from '../route-table.ts';
import { Components, type JsonSchema } from './components.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface Reference {
  readonly $ref: string;
}

/** Parameters that every request may have. */
export const COMMON_PARAMETERS: Readonly<Record<string, Parameter>> = {
  CorrelationId: {
    name: 'X-Correlation-Id',
    in: 'header',
    required: false,
    description:
      'UUID for tracing; appears in the response, the logs and the webhooks of the request. The gateway replaces an invalid value and generates a missing one.',
    schema: { type: 'string', format: 'uuid' },
  },
  Traceparent: {
    name: 'traceparent',
    in: 'header',
    required: false,
    description:
      'Trace context of the caller (W3C Trace Context); the gateway continues the trace and ignores a malformed value.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Key that makes repeats safe, 1 to 255 visible characters, with or without quotes. For 24 hours, the same key with the ' +
      'same request returns the stored response with `Idempotency-Replayed: true`. The same key with another request is ' +
      'refused with 422; a repeat while the first request still runs is refused with 409.',
    schema: { type: 'string', minLength: 1, maxLength: 257 },
  },
};

export function parametersOf(route: KnownRoute): (Parameter | Reference)[] {
  const { url, schema, isIdempotent } = route;
  const common = ['CorrelationId', 'Traceparent', ...(isIdempotent ? ['IdempotencyKey'] : [])];
  return [
    ...pathParameters(url, schema.params),
    ...ownParameters(schema.querystring, 'query'),
    ...ownParameters(schema.headers, 'header'),
    ...common.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** `/transactions/:id` -> `/transactions/{id}` */
export function pathTemplate(url: string): string {
  return url.replace(/:(\w+)/g, '{$1}');
}

function pathParameters(url: string, schema: unknown): Parameter[] {
  const described = new Map(ownParameters(schema, 'path').map((parameter) => [parameter.name, parameter]));
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  return names.map((name) => described.get(name) ?? { name, in: 'path', required: true, schema: { type: 'string' } });
}

/** Types come from the parsed value (`limit` is an integer, although a URL is text); required comes from the text. */
function ownParameters(schema: unknown, place: Parameter['in']): Parameter[] {
  if (!(schema instanceof z.ZodType)) return [];
  const { properties: sent, required = [] } = objectOf(schema, 'input');
  const { properties: meant } = objectOf(schema, 'output');
  return Object.entries(sent).map(([name, text]) => {
    const { description, ...rest } = isSilent(meant[name]) ? text : meant[name]!;
    const explained = (description ?? text.description) as string | undefined;
    return {
      name: place === 'header' ? titleCase(name) : name,
      in: place,
      required: required.includes(name),
      ...(explained !== undefined && { description: explained }),
      schema: rest,
    };
  });
}

function objectOf(schema: z.ZodType, io: 'input' | 'output') {
  const components = new Components();
  const made = components.of(schema, io);
  const object = made.$ref === undefined ? made : Object.values(components.schemas)[0]!;
  return object as { properties: Record<string, JsonSchema>; required?: string[] };
}

/** JSON Schema cannot express what a function makes of a text. */
function isSilent(schema: JsonSchema | undefined): boolean {
  return (
    schema === undefined ||
    !('type' in schema || 'enum' in schema || 'anyOf' in schema || 'const' in schema) ||
    (Array.isArray(schema.anyOf) && schema.anyOf.some((branch) => isSilent(branch)))
  );
}

/** `x-device-installation-id` -> `X-Device-Installation-Id` */
function titleCase(header: string): string {
  return header.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
