import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify/types/schema.js';
import { z } from 'zod';

/** The zod schema behind each answer's JSON Schema. */
const sources = new WeakMap<object, z.ZodType>();
/** The JSON Schema of each zod schema: many routes answer with the same ones. */
const compiledSchemas = new WeakMap<z.ZodType, object>();
/** By the text of the JSON Schema. As many as the code has schemas of answers. */
const serializers = new Map<string, ReturnType<typeof buildSerializer>>();
const buildSerializer = SerializerSelector()({});

/** JSON Schema of an answer, for fastify's compiled serializer. */
export function answerSchema(schema: z.ZodType): object {
  let compiled = compiledSchemas.get(schema);
  if (compiled === undefined) {
    compiled = z.toJSONSchema(schema, { target: 'draft-7', unrepresentable: 'any', io: 'output' });
    compiledSchemas.set(schema, compiled);
    sources.set(compiled, schema);
  }
  return compiled;
}

/** What `answerSchema` was given; undefined for a schema that was made otherwise. */
export function answerSource(compiled: object): z.ZodType | undefined {
  return sources.get(compiled);
}

/**
 * Fastify's own serializer compiler, which runs once for each schema instead of once for each answer of each route: compiling
 * takes about 1 ms, and was most of the time in which a gateway starts.
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
