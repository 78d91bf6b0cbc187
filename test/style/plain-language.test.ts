import { matchesGlob } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bannedPhrasesIn } from './banned-phrases.ts';
import { checkedPartsOf, QUOTING_FILES, textsOf } from './checked-texts.ts';
import { browserFiles, documents, sourceFiles } from './source-files.ts';

const files = [
  ...sourceFiles('src', 'processors', 'schemas', 'test', 'vitest.config.ts'),
  ...documents(),
  ...browserFiles('src'),
];

describe('the repository reads plainly', () => {
  test('no comment, text or document contains a banned phrase', () => {
    const faults = files.flatMap(({ path, text }) =>
      checkedPartsOf(path)
        .flatMap((part) => textsOf(part, text))
        .flatMap((each) => bannedPhrasesIn(each).map((fault) => `${path}: ${fault}`)),
    );
    expect(faults).toEqual([]);
  });

  test('each exception matches a file', () => {
    const unused = QUOTING_FILES.filter((glob) => !files.some(({ path }) => matchesGlob(path, glob)));
    expect(unused).toEqual([]);
  });
});

describe('a banned phrase is found', () => {
  test.each([
    'Whoever reads this',
    'The key works no more.',
    'There is nothing under this address for you.',
    'The database is away; nothing was stored.',
    'What became of the tap',
    'A field tells the outcome',
  ])('a banned phrase is found in "%s"', (text) => {
    expect(bannedPhrasesIn(text)).toHaveLength(1);
  });

  test('a similar text is no banned phrase', () => {
    expect(bannedPhrasesIn('No more webhooks for refunds of no more than the approved amount.')).toEqual([]);
  });

  test('banned phrases are found in comments, texts and prose, separately', () => {
    const source = `/** Told to\n * nobody. */\nconst told = 'of ours'; // is away`;
    expect(textsOf('comments', source)).toEqual(['/** Told to nobody. */', '// is away']);
    expect(textsOf('texts', source)).toEqual(["'of ours'"]);
    expect(textsOf('prose', 'Read `told`.\n```ts\nnobody\n```\n')).toEqual(['Read .\n\n']);
    expect(textsOf('prose', '<p class="told">Paid.</p>')).toEqual([' Paid. ']);
  });
});
