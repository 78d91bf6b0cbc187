import { describe, expect, test } from 'vitest';
import { hashPassword, isPassword, passwordFault } from '../../../src/auth/portal/log-in.ts';
import { cheapHash } from '../../support/portal-users.ts';

describe('a password', () => {
  test('matches its own hash in any Unicode form, and no other password does', async () => {
    const hash = await hashPassword('Café crème brûlée');
    expect(hash).toMatch(/^scrypt\$131072\$8\$1\$/);
    expect(await isPassword('Café crème brûlée'.normalize('NFD'), hash)).toBe(true);
    const cheap = cheapHash('Café crème');
    expect(await isPassword('Café crème', cheap)).toBe(true);
    for (const other of ['Cafe creme', 'Café crème ', '']) expect(await isPassword(other, cheap)).toBe(false);
  });

  test('does not match if there is no hash, or an invalid one', async () => {
    const cheap = cheapHash('a');
    for (const stored of [undefined, '', `${cheap}A`, cheap.replace('1024', '-1')]) {
      expect(await isPassword('a', stored)).toBe(false);
    }
  });

  test.each([
    ['too short', 'eleven char', 'must have at least 12 characters'],
    ['as short, counted by characters', '🐎🐎🐎🐎🐎🐎', 'must have at least 12 characters'],
    ['too long', 'ab cd'.repeat(60), 'must have at most 256 characters'],
    ['one character repeated', 'aaaaaaaaaaaaaaaa', 'must have at least 4 different characters'],
    ['the name and a bit', 'Thandi@shop.example1', 'must not contain the user name'],
  ])('is refused if it is %s', (_, password, fault) => {
    expect(passwordFault(password, 'thandi@shop.example')).toBe(fault);
  });

  test('needs no digits, capitals or symbols', () => {
    expect(passwordFault('correct horse battery staple', 'thandi@shop.example')).toBeUndefined();
  });
});
