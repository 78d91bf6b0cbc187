import { expect, test } from 'vitest';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { SealedReplies } from '../../src/kits/processor-kit/switch-protocol.ts';

const LINE = {};
const OTHER_LINE = {};

/** An HSM whose results a test gives. */
function heldSeals() {
  const asked: PromiseWithResolvers<void>[] = [];
  const seal = () => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  };
  return { asked, replies: new SealedReplies(seal) };
}

const reply = (name: string): IsoMessage => ({ mti: '0810', name });

test('replies keep the order of their connection when the HSM does not, and other connections do not wait', async () => {
  const { asked, replies } = heldSeals();
  const written: unknown[] = [];
  const write = ({ name }: IsoMessage) => void written.push(name);
  const first = replies.send(LINE, reply('first'), write);
  const second = replies.send(LINE, reply('second'), write);
  const other = replies.send(OTHER_LINE, reply('other'), write);
  asked[1]!.resolve();
  asked[2]!.resolve();
  await other;
  expect(written).toEqual(['other']);
  asked[0]!.resolve();
  await Promise.all([first, second]);
  expect(written).toEqual(['other', 'first', 'second']);
});

test('a reply without MAC is not written, and those behind it are, in their order', async () => {
  const { asked, replies } = heldSeals();
  const written: unknown[] = [];
  const write = ({ name }: IsoMessage) => void written.push(name);
  const sent = ['first', 'second', 'third'].map((name) => replies.send(LINE, reply(name), write));
  asked[1]!.reject(new Error('no MAC'));
  asked[2]!.resolve();
  asked[0]!.resolve();
  await expect(sent[1]).rejects.toThrow('no MAC');
  await Promise.all([sent[0], sent[2]]);
  expect(written).toEqual(['first', 'third']);
});

test('a switch that floods a connection with requests gets no more replies than fit, and others later', async () => {
  const { asked, replies } = heldSeals();
  const sent = Array.from({ length: 64 }, () => replies.send(LINE, reply('any'), () => {}));
  await expect(replies.send(LINE, reply('one more'), () => {})).rejects.toThrow('Too many replies');
  for (const { resolve } of asked) resolve();
  await Promise.all(sent);
  const later = replies.send(LINE, reply('later'), () => {});
  asked.at(-1)!.resolve();
  await later;
});
