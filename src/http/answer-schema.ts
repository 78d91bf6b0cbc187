import { z } from 'zod';

/** The zod schema behind each answer's JSON Schema. */
const sources = new WeakMap<object, z.ZodType>();

/** JSON Schema of an answer, for fastify's compiled serializer. */
export function answerSchema(schema: z.ZodType): object {
  const compiled = z.toJSONSchema(schema, { target: 'draft-7', unrepresentable: 'any', io: 'output' });
  sources.set(compiled, schema);
  return compiled;
}

/** What `answerSchema` was given; undefined for a schema that was made otherwise. */
export function answerSource(compiled: object): z.ZodType | undefined {
  return sources.get(compiled);
}
