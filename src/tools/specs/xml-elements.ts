import { type Findings, MAX_SPEC_DEPTH } from './findings.ts';

/** An element with its attributes. Text between elements is not kept, because packagers have none. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  /** From 1. */
  readonly line: number;
}

const TAG = /<(\/?)([A-Za-z_][\w.-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;
const ATTRIBUTE = /([A-Za-z_][\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** The parts of a document type: declarations, comments, quoted names, and one part in brackets. */
const DOCTYPE = /<!DOCTYPE(?:[^[\]<>"']|"[^"]*"|'[^']*')*(?:\[((?:<!--[\s\S]*?-->|[^\]])*)\]\s*)?>/y;
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * Reads the part of XML that packagers consist of: elements, attributes, comments and a document type. Everything else is
 * refused, and above all what makes XML from others dangerous: entities are neither declared nor expanded, and no file or
 * address that the document names is opened.
 *
 * @throws StartError BAD_CONFIG with the line
 */
export function readXml(text: string, findings: Findings): XmlElement {
  const open: { readonly element: XmlElement; readonly children: XmlElement[] }[] = [];
  let root: XmlElement | undefined;
  let position = 0;
  let line = 1;
  const refuse = (reason: string) => findings.fault({ line }, reason);
  const advance = (to: number) => {
    for (let at = position; at < to; at++) if (text.charCodeAt(at) === 0x0a) line++;
    position = to;
  };
  const skipThrough = (end: string, what: string) => {
    const at = text.indexOf(end, position);
    if (at < 0) throw refuse(`The ${what} does not end.`);
    advance(at + end.length);
  };
  for (;;) {
    const next = text.indexOf('<', position);
    if (next < 0) break;
    advance(next);
    if (text.startsWith('<!--', position)) skipThrough('-->', 'comment');
    else if (text.startsWith('<?', position)) skipThrough('?>', 'processing instruction');
    else if (text.startsWith('<!DOCTYPE', position)) {
      const type = matchAt(DOCTYPE, text, position);
      if (type === undefined || root !== undefined || open.length > 0) throw refuse('The document type is malformed.');
      const declared = (type[1] ?? '').replace(/<!--[\s\S]*?-->/g, '');
      if (/<!ENTITY|%/.test(declared)) throw refuse('The document declares entities, which are not expanded.');
      if (/<!ATTLIST[^>]*["']/.test(declared)) throw refuse('The document declares default values of attributes.');
      advance(position + type[0].length);
    } else {
      const tag = matchAt(TAG, text, position);
      if (tag === undefined) throw refuse('Expected an element, a comment or a document type.');
      const [whole, isEnd, name, attributes, isEmpty] = tag as unknown as [string, string, string, string, string];
      if (isEnd !== '') {
        const closed = open.pop();
        if (closed?.element.name !== name || attributes !== '') throw refuse(`The end of ${name} is in a wrong place.`);
      } else {
        if (root !== undefined && open.length === 0) throw refuse('A document has one outermost element.');
        if (open.length === MAX_SPEC_DEPTH) throw refuse(`Elements are nested deeper than ${MAX_SPEC_DEPTH}.`);
        const children: XmlElement[] = [];
        const element = { name, attributes: attributesOf(attributes, refuse), children, line };
        open.at(-1)?.children.push(element);
        root ??= element;
        if (isEmpty === '') open.push({ element, children });
      }
      advance(position + whole.length);
    }
  }
  if (root === undefined || open.length > 0) throw refuse('The document ends before its outermost element.');
  return root;
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}

function attributesOf(text: string, refuse: (reason: string) => Error): Record<string, string> {
  const attributes: Record<string, string> = Object.create(null);
  for (const [, name, inDouble, inSingle] of text.matchAll(ATTRIBUTE)) {
    if (name! in attributes) throw refuse(`The attribute ${name} occurs twice.`);
    attributes[name!] = (inDouble ?? inSingle)!.replace(/&([^;]*);?/g, (_, entity: string) =>
      characterOf(entity, refuse),
    );
  }
  return attributes;
}

function characterOf(entity: string, refuse: (reason: string) => Error): string {
  const number = /^#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))$/.exec(entity);
  const code = number === null ? -1 : Number.parseInt((number[1] ?? number[2])!, number[1] === undefined ? 10 : 16);
  if (code > 0 && code <= 0x10ffff) return String.fromCodePoint(code);
  if (Object.hasOwn(NAMED, entity)) return NAMED[entity]!;
  throw refuse('An entity other than the five of XML is not expanded.');
}
