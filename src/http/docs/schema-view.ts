import type { JsonSchema } from '../openapi/components.ts';
import { html, inlineMarkdown, type Markup } from './html.ts';
import { pathOfSchema, type Reference } from './reference.ts';

/** A property deeper than this is shown on the page of its schema. */
const MAX_DEPTH = 6;

/** Patterns whose meaning is clearer in words. Their texts are in `schemas/plain-text.ts`. */
const PATTERN_WORDS: readonly (readonly [start: string, words: string])[] = [
  ['^[^\\x00-\\x1f', 'no control characters'],
  ['[^\\s\\u00ad', 'at least one visible character'],
  ['^[^\\u202a-', 'no characters that change the direction of text'],
];

interface Place {
  /** Start of the ids on the page. */
  readonly prefix: string;
  /** Names of the schemas that this one is inside of. */
  readonly within: readonly string[];
  readonly depth: number;
}

/** Renders schemas as lists of properties, with every constraint. */
export class SchemaView {
  readonly #reference: Reference;

  constructor(reference: Reference) {
    this.#reference = reference;
  }

  /** The properties or alternatives of a schema. `prefix` keeps ids unique on a page. */
  body(schema: JsonSchema, prefix: string): Markup {
    const inner = this.#inner(schema, { prefix, within: [], depth: 0 });
    return inner ?? html`<p>${this.typeOf(schema)} ${constraints(schema)}</p>`;
  }

  /** A parameter or header, which is never inside another schema. */
  parameter(name: string, schema: JsonSchema, isRequired: boolean, prefix: string, description?: string): Markup {
    return this.#entry(name, schema, isRequired, { prefix, within: [], depth: 0 }, description);
  }

  #entry(
    name: string,
    schema: JsonSchema,
    isRequired: boolean,
    place: Place,
    description = schema.description as string | undefined,
  ): Markup {
    const id = `${place.prefix}.${name}`;
    const inner = this.#inner(schema, { ...place, prefix: id, depth: place.depth + 1 });
    return html`<div class="property" id="${id}">
      <p class="signature"><a class="anchor" href="#${id}"><code>${name}</code></a>
        <span class="type">${this.typeOf(schema)}</span>${isRequired && html` <span class="required">required</span>`}</p>
      ${description !== undefined && html`<p>${inlineMarkdown(description)}</p>`}
      ${constraints(schema)}
      ${inner && html`<details${place.depth === 0 && html` open`}><summary>Fields of <code>${name}</code></summary>${inner}</details>`}
    </div>`;
  }

  typeOf(schema: JsonSchema): Markup {
    const { $ref, anyOf, oneOf, items, format, additionalProperties } = schema;
    if (typeof $ref === 'string') {
      const name = nameOf($ref);
      return html`<a href="${pathOfSchema(name)}">${name}</a>`;
    }
    const branches = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined;
    if (branches) return joined(branches.map((branch) => this.typeOf(branch)));
    if ('const' in schema) return html`${JSON.stringify(schema.const)}`;
    if (items !== undefined) return html`array of ${this.typeOf(items as JsonSchema)}`;
    if (isSchema(additionalProperties)) return html`map of ${this.typeOf(additionalProperties)}`;
    if (schema.allOf !== undefined && schema.type === undefined) {
      return joined((schema.allOf as readonly JsonSchema[]).filter(isNamed).map((part) => this.typeOf(part)));
    }
    const types = [schema.type ?? 'any'].flat().join(' or ');
    return html`${types}${typeof format === 'string' && ` (${format})`}`;
  }

  #inner(schema: JsonSchema, place: Place): Markup | undefined {
    const { $ref, properties, items, additionalProperties } = schema;
    if (place.depth > MAX_DEPTH) return undefined;
    if (typeof $ref === 'string') {
      const name = nameOf($ref);
      if (place.within.includes(name)) return undefined;
      const within = [...place.within, name];
      return this.#inner(this.#reference.resolve<JsonSchema>($ref), { ...place, within });
    }
    if (properties !== undefined) return this.#properties(schema, place);
    if (items !== undefined) return this.#inner(items as JsonSchema, place);
    if (isSchema(additionalProperties)) return this.#inner(additionalProperties, place);
    return this.#branches(schema, place);
  }

  #properties({ properties, required = [] }: JsonSchema, place: Place): Markup {
    const entries = Object.entries(properties as Readonly<Record<string, JsonSchema>>);
    const names = new Set(required as readonly string[]);
    return html`<div class="properties">${entries.map(([name, each]) => this.#entry(name, each, names.has(name), place))}</div>`;
  }

  /** Alternatives that are objects; scalar alternatives are named by the type. */
  #branches({ anyOf, oneOf, allOf }: JsonSchema, place: Place): Markup | undefined {
    const branches = (anyOf ?? oneOf ?? allOf ?? []) as readonly JsonSchema[];
    const shown = branches.flatMap((branch, at) => {
      const inner = this.#inner(branch, { ...place, prefix: `${place.prefix}.${at + 1}` });
      return inner ? [{ branch, inner }] : [];
    });
    if (shown.length === 0) return undefined;
    if (shown.length === 1 || allOf) return html`${shown.map(({ inner }) => inner)}`;
    return html`${shown.map(
      ({ branch, inner }, at) => html`<div class="alternative">
        <p class="faint">${at === 0 ? 'Either' : 'Or'}: ${this.typeOf(branch)}</p>${inner}</div>`,
    )}`;
  }
}

function joined(types: readonly Markup[]): Markup {
  const distinct = [...new Map(types.map((type) => [type.markup, type])).values()];
  return html`${distinct.map((type, at) => html`${at > 0 && ' or '}${type}`)}`;
}

function isNamed(schema: JsonSchema): boolean {
  return schema.type !== undefined || schema.$ref !== undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function nameOf(ref: string): string {
  return ref.split('/').at(-1)!;
}

/** Every constraint of a value, its alternatives included, and its examples. */
function constraints(schema: JsonSchema): Markup | undefined {
  const facts = factsOf(schema);
  if (facts.length === 0) return undefined;
  return html`<ul class="constraints">${facts.map((fact) => html`<li>${fact}</li>`)}</ul>`;
}

function factsOf(schema: JsonSchema): Markup[] {
  const { anyOf, oneOf, allOf, items } = schema as { [keyword: string]: readonly JsonSchema[] | undefined };
  const own = [...rangeOf(schema), ...valuesOf(schema)];
  const parts = (allOf ?? []).flatMap(factsOf);
  const branches = (anyOf ?? oneOf ?? []).flatMap((branch) =>
    factsOf(branch).map((fact) => html`${branch.type === undefined ? '' : `${String(branch.type)}: `}${fact}`),
  );
  const ofItems = isSchema(items) && !('properties' in items) ? factsOf(items).map((fact) => html`each: ${fact}`) : [];
  return [...own, ...parts, ...branches, ...ofItems];
}

function rangeOf(schema: JsonSchema): Markup[] {
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, exclusiveMinimum, multipleOf } = schema;
  const facts = [
    span(minLength, maxLength, ' characters'),
    span(minItems, maxItems, ' elements'),
    span(minimum, maximum),
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    multipleOf !== undefined && `multiple of ${multipleOf}`,
  ];
  return facts.filter((fact) => fact !== false).map((fact) => html`${fact}`);
}

function span(least: unknown, most: unknown, unit = ''): string | false {
  const ends = [...new Set([least, most])].filter((end) => end !== undefined);
  const words = least === undefined ? 'at most ' : most === undefined ? 'at least ' : '';
  return ends.length > 0 && `${words}${ends.join(' to ')}${unit}`;
}

function valuesOf({ pattern, enum: choices, default: byDefault, examples }: JsonSchema): Markup[] {
  const codes = (words: string, values: unknown) =>
    values !== undefined &&
    html`${words} ${(values as readonly unknown[]).map((value, at) => html`${at > 0 && ', '}<code>${JSON.stringify(value)}</code>`)}`;
  const words = PATTERN_WORDS.find(([start]) => String(pattern).startsWith(start))?.[1];
  return [
    codes('one of', choices),
    codes('default', byDefault === undefined ? undefined : [byDefault]),
    pattern !== undefined && (words ? html`${words}` : html`matches <code>${String(pattern)}</code>`),
    codes('for example', examples),
  ].filter((fact) => fact !== false);
}
