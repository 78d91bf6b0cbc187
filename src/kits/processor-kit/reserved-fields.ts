import { text } from '../../codecs/iso8583/fields.ts';
import type { TextField } from '../../codecs/iso8583/rows.ts';

/** A field that each network uses in its own way, so it may have any content. */
export function openField<const Name extends string>(name: Name): TextField<Name> {
  return text({ name, characters: 999, content: 'any', prefix: 'LLL' });
}

type ReservedFields<Numbers extends readonly number[]> = {
  readonly [Number in Numbers[number]]: TextField<`reserved${Number}`>;
};

/** Fields that are reserved for the standard, for countries or for private use: text of up to 999 characters. */
export function reservedFields<const Numbers extends readonly number[]>(numbers: Numbers): ReservedFields<Numbers> {
  const rows = numbers.map((number) => [number, openField(`reserved${number}`)]);
  return Object.fromEntries(rows) as ReservedFields<Numbers>;
}
