import { tagText } from '../../src/codecs/emv/tlv.ts';
import type { Field } from '../../src/codecs/iso8583/rows.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';

/** The JSON form of a spec: `parseSpec` returns the same spec. */
export function specToJson({ fields, ...spec }: Spec): Record<string, unknown> {
  return withoutAbsent({ ...spec, fields: tableToJson(fields) });
}

function tableToJson(fields: Readonly<Record<string, Field>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, fieldToJson(field)]));
}

function fieldToJson(field: Field): Record<string, unknown> {
  const { kind, min, max, emvTag, ...rest } = field;
  const type = field.kind === 'text' ? field.content : kind === 'binary' ? 'b' : kind;
  const sizes = min === max ? { length: max } : { ...(min > 0 && { min }), max };
  const json: Record<string, unknown> = { type, ...rest, ...sizes, emvTag: emvTag && tagText(emvTag) };
  if (field.kind === 'text') delete json.content;
  if (field.kind === 'tlv') json.allow = field.allow?.map(tagText);
  if (field.kind === 'positional') json.fields = field.fields.map(fieldToJson);
  else if ('fields' in field) json.fields = tableToJson(field.fields);
  return withoutAbsent(json);
}

function withoutAbsent(json: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));
}
