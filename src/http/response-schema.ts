import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify/types/schema.js';
import { z } from 'zod';

/** The zod schema from which each response's JSON Schema was made. */
const sources = new WeakMap<object, z.ZodType>();
/** The JSON Schema of each zod schema. Many routes share a response schema. */
const compiledSchemas = new WeakMap<z.ZodType, object>();
/** Keyed by the text of the JSON Schema. Limited by the number of response schemas in the code. */
const serializers = new Map<string, ReturnType<typeof buildSerializer>>();
const buildSerializer = SerializerSelector()({});

/** JSON Schema of a response, for fastify's compiled serializer. */
export function responseSchema(schema: z.ZodType): object {
  let compiled = compiledSchemas.get(schema);
  if (compiled === undefined) {
    compiled = z.toJSONSchema(schema, { target: 'draft-7', unrepresentable: 'any', io: 'output' });
    compiledSchemas.set(schema, compiled);
    sources.set(compiled, schema);
  }
  return compiled;
}

/** @returns the zod schema that was passed to `responseSchema`; undefined for a schema made in another way */
export function responseSource(compiled: object): z.ZodType | undefined {
  return sources.get(compiled);
}

/**
 * Fastify's serializer compiler, run once for each schema instead of once for each response of each route. One
 * compilation takes about 1 ms, and they took most of the start-up time of a gateway.
 */
export const serializerCompiler: FastifySerializerCompiler<unknown> = (route) => {
  const text = JSON.stringify(route.schema);
  let serializer = serializers.get(text);
  if (serializer === undefined) {
    serializer = buildSerializer({ ...route, httpStatus: route.httpStatus ?? '' });
    serializers.set(text, serializer);
  }
  return serializer;
};
