import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { PortalUser } from '../../src/auth/portal/portal-user.ts';
import { type CeremonyParts, joinCeremony, leadCeremony } from '../../src/cli/hsm/ceremony/ceremony.ts';
import { joinPlace } from '../../src/cli/hsm/ceremony/ceremony-place.ts';
import { CustodianRefused, type CustodianTerminal } from '../../src/cli/hsm/ceremony/type-component.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import type { BlockKey } from '../../src/codecs/crypto/block-key.ts';

const KEY = { keyId: 'acquirer/1/zmk', usage: 'keyEncryption', algorithm: 'tdes', lengthBytes: 16 } as const;
const ONE = ['0123456789ABCDEFFEDCBA9876543210', '08D7B4'];
const OTHER = ['1111111111111111222222222222222A', '616337'];
const WHOLE_KCV = '463C64';
const WHOLE = '1032547698BADCFEDCFE98BA5476103B';
const never = new Promise<never>(() => {});

/** A person who replies to the questions in this order, and then to none. */
class Person implements CustodianTerminal {
  readonly said: string[] = [];
  readonly #responses: string[];

  constructor(username: string, ...component: string[]) {
    this.#responses = [...loginOf(username), ...component];
  }

  say(text: string): void {
    this.said.push(text);
  }

  ask(): Promise<string> {
    const response = this.#responses.shift();
    return response === undefined ? never : Promise.resolve(response);
  }

  async askHidden(): Promise<Buffer> {
    return Buffer.from(await this.ask());
  }
}

const loginOf = (username: string) => [username, 'password', ''];

function parts(terminal: CustodianTerminal, changes: Partial<CeremonyParts> = {}) {
  const dataFolder = mkdtempSync(join(tmpdir(), 'tapwire-ceremony-'));
  onTestFinished(() => rmSync(dataFolder, { recursive: true }));
  const stored: { key: BlockKey; names: string[] }[] = [];
  const all: CeremonyParts = {
    ...{ key: KEY, kcv: WHOLE_KCV, terminal, dataFolder, cancelled: never },
    async checkCustodian({ username }) {
      if (!['ann', 'bob'].includes(username)) throw new CustodianRefused('The login is not accepted.');
      return { id: username, username } as PortalUser;
    },
    onOpened: async () => {},
    store: async (key, custodians) => void stored.push({ key, names: custodians.map(({ username }) => username) }),
    ...changes,
  };
  return { ...all, stored };
}

/** The id that the first terminal shows. */
async function idOf(first: Person): Promise<string> {
  await expect.poll(() => first.said.join()).toMatch(/--join \w{6}/);
  return /--join (\w{6})/.exec(first.said.join())![1]!;
}

const reasonOf = (running: Promise<unknown>) =>
  running.then(
    () => 'no fault',
    (error: Error) => error.message,
  );

async function joining(dataFolder: string, first: Person, person: Person, cancelled = never): Promise<string> {
  return joinCeremony(person, await joinPlace(dataFolder, await idOf(first)), cancelled);
}

test('two people form a key, nothing shows a component, and nothing of the ceremony is left', async () => {
  const [ann, bob] = [new Person('ann', ...ONE), new Person('bob', ...OTHER)];
  const ceremony = parts(ann);
  const leading = leadCeremony(ceremony);
  const id = await idOf(ann);
  const folder = join(ceremony.dataFolder, `hsm-ceremony-${id}`);
  expect([folder, join(folder, 'socket')].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
  expect(await joining(ceremony.dataFolder, ann, bob)).toBe(WHOLE_KCV);
  await leading;
  expect(ceremony.stored.map(({ key, names }) => [key.useBytes((bytes) => toHex(bytes)), names])).toEqual([
    [WHOLE, ['ann', 'bob']],
  ]);
  const shown = [...ann.said, ...bob.said].join();
  for (const secret of [ONE[0]!, OTHER[0]!, WHOLE]) expect(shown).not.toContain(secret);
  expect(readdirSync(ceremony.dataFolder)).toEqual([]);
});

test('the first person, and a person whose login is refused, cannot be the second one', async () => {
  const [ann, other] = [new Person('ann', ...ONE), new Person('ann', ...loginOf('eve'), ...loginOf('bob'), ...OTHER)];
  const ceremony = parts(ann);
  const leading = leadCeremony(ceremony);
  await joining(ceremony.dataFolder, ann, other);
  await leading;
  expect(other.said).toContain('The second custodian must be another person.');
  expect(other.said).toContain('The login is not accepted.');
  expect(ceremony.stored[0]!.names).toEqual(['ann', 'bob']);
});

test('a wrong check value of the whole key stores nothing, and both people see why', async () => {
  const [ann, bob] = [new Person('ann', ...ONE), new Person('bob', ...OTHER)];
  const ceremony = parts(ann, { kcv: '000000' });
  const leading = reasonOf(leadCeremony(ceremony));
  const joined = reasonOf(joining(ceremony.dataFolder, ann, bob));
  expect(await leading).toContain('the check value differs from the announced one');
  expect(await joined).toContain('the check value differs from the announced one');
  expect(ceremony.stored).toEqual([]);
});

test('a component with a wrong check value is asked for again, three times at most', async () => {
  const wrong = [ONE[0]!, '000000'];
  const ann = new Person('ann', ...wrong, ...wrong, ...wrong);
  const ceremony = parts(ann);
  expect(await reasonOf(leadCeremony(ceremony))).toContain('Your component is not accepted');
  expect(readdirSync(ceremony.dataFolder)).toEqual([]);
});

test('a ceremony that is cancelled or too late ends at both terminals', async () => {
  const cancelling = Promise.withResolvers<never>();
  cancelling.promise.catch(() => {});
  const [ann, bob] = [new Person('ann', ...ONE), new Person('bob')];
  const ceremony = parts(ann, { cancelled: cancelling.promise });
  const leading = reasonOf(leadCeremony(ceremony));
  const joined = reasonOf(joining(ceremony.dataFolder, ann, bob));
  await expect.poll(() => bob.said.join()).toContain('The first custodian is ann.');
  cancelling.reject(new Error('too late'));
  expect(await leading).toBe('too late');
  expect(await joined).toContain('The ceremony has ended at the first terminal.');
  expect(readdirSync(ceremony.dataFolder)).toEqual([]);
});

test('a second person is turned down while one joins, and the next one can join when that person leaves', async () => {
  const leaving = Promise.withResolvers<never>();
  leaving.promise.catch(() => {});
  const ann = new Person('ann', ...ONE);
  const ceremony = parts(ann);
  const leading = leadCeremony(ceremony);
  const bob = new Person('bob');
  const joined = reasonOf(joining(ceremony.dataFolder, ann, bob, leaving.promise));
  await expect.poll(() => bob.said.join()).toContain('The first custodian is ann.');
  expect(await reasonOf(joining(ceremony.dataFolder, ann, new Person('bob', ...OTHER)))).toContain('has ended');
  leaving.reject(new Error('left'));
  expect(await joined).toBe('left');
  const next = () => reasonOf(joining(ceremony.dataFolder, ann, new Person('bob', ...OTHER)));
  await expect.poll(next).toBe('no fault');
  await leading;
});

test('an id of another form, or of a ceremony that has ended, is refused', async () => {
  expect(await reasonOf(joinPlace(tmpdir(), '../../x'))).toContain('expected the 6 characters');
  expect(await reasonOf(joinPlace(tmpdir(), 'abcdef'))).toContain('there is no such ceremony');
});
