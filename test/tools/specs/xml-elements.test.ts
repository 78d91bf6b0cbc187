import { describe, expect, test } from 'vitest';
import { readXml } from '../../../src/tools/specs/jpos-packager.ts';
import { Findings, MAX_SPEC_DEPTH } from '../../../src/tools/specs/spec-diff.ts';

const read = (text: string) => readXml(text, new Findings('file.xml'));

test('elements have their attributes, their children and the line on which they begin', () => {
  const root = read(`<?xml version="1.0"?>
<!-- <ignored/> -->
<!DOCTYPE a [ <!ELEMENT a (b*)> <!-- ]> --> <!ATTLIST b c CDATA #IMPLIED> ]>
<a>
  text <b c = 'x &lt; &#x41;&quot;' d="1"/>
  <b
    c="2"></b>
</a>`);
  expect(root).toMatchObject({ name: 'a', line: 4, children: [{ line: 5 }, { line: 6 }] });
  expect({ ...root.children[0]!.attributes }).toEqual({ c: 'x < A"', d: '1' });
});

describe('what packagers do not have is refused with the line', () => {
  test.each([
    ['an element that does not end', '<a>\n<b></a>', 2, 'wrong place'],
    ['a document that does not end', '<a>\n<b/>', 2, 'ends before'],
    ['two outermost elements', '<a/>\n<a/>', 2, 'one outermost'],
    ['an attribute that occurs twice', '<a b="1" b="2"/>', 1, 'occurs twice'],
    ['an attribute without quotes', '<a b=1/>', 1, 'Expected an element'],
    ['a character section', '<a>\n<![CDATA[x]]></a>', 2, 'Expected an element'],
    ['an entity of its own', '<a b="&own;"/>', 1, 'not expanded'],
    ['declared entities', '<!DOCTYPE a [<!ENTITY x "&y;&y;">]><a/>', 1, 'declares entities'],
    ['declared default values', '<!DOCTYPE a [<!ATTLIST a b CDATA "1">]><a/>', 1, 'default values'],
    ['an empty file', ' ', 1, 'ends before'],
    ['a comment that does not end', '<a>\n<!-- </a>', 2, 'does not end'],
  ])('%s is refused', (_what, text, line, reason) => {
    expect(() => read(text)).toThrow(new RegExp(`file\\.xml(:${line})?: .*${reason}`));
  });

  test('nesting deeper than that of any packager is refused', () => {
    expect(() => read('<a>'.repeat(MAX_SPEC_DEPTH + 2))).toThrow('nested deeper');
  });
});

test('the text of a file cannot make reading slow', () => {
  const hostile = [
    `<a ${'b '.repeat(50_000)}`,
    `<a${' '.repeat(200_000)}`,
    `<!DOCTYPE ${'['.repeat(100_000)}`,
    '<'.repeat(100_000),
  ];
  for (const text of hostile) expect(() => read(text)).toThrow();
});
