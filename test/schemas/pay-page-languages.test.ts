import { describe, expect, test } from 'vitest';
import { languageFor, payPageFiles, TEXTS } from '../../src/http/pay-page/page-files.ts';

/** Every text with its path, such as `phases.paid.headline`. */
function entriesOf(texts: object, path = ''): [string, string][] {
  return Object.entries(texts).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[path + name, value]] : entriesOf(value, `${path}${name}.`),
  );
}

const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();

describe.each(Object.keys(TEXTS))('the texts in %s', (language) => {
  const english = new Map(entriesOf(TEXTS.en!));
  const texts = new Map(entriesOf(TEXTS[language]!));

  test('are complete, with the same places for values', () => {
    expect([...texts.keys()]).toEqual([...english.keys()]);
    for (const [key, text] of texts) {
      expect(text === '', key).toBe(english.get(key) === '');
      expect(places(text), key).toEqual(places(english.get(key)!));
    }
  });

  test('are text in a page', () => {
    for (const text of texts.values()) expect(text).not.toMatch(/[<>&"]|^\s|\s$/);
    const page = payPageFiles({ hasVirtualPhone: false }).pages.get(language)!;
    expect(page.body.toString()).toContain(`<html lang="${language}">`);
    expect(page.body.toString()).not.toMatch(/%\w+%|undefined/);
  });
});

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['de', 'de'],
  ['DE-at', 'de'],
  ['zh-CN, fr;q=0.5, de;q=0.8', 'de'],
  ['es;q=0, pt', 'pt'],
  ['fr, en', 'fr'],
  ['*', 'en'],
  ['constructor, __proto__', 'en'],
  [`de;q=7, ;;;, ${'x'.repeat(5_000)}`, 'en'],
])('Accept-Language %j gets %s', (header, language) => {
  expect(languageFor(header)).toBe(language);
});
