import { describe, expect, test } from 'vitest';
import { bearerToken } from '../../src/auth/tokens/read-token.ts';
import { AuthError } from '../../src/basics/errors.ts';

describe('the Authorization header', () => {
  test.each(['Bearer a.b-c_d', 'bearer a.b-c_d', 'BEARER  a.b-c_d'])('%j carries a token', (header) => {
    expect(bearerToken(header)).toBe('a.b-c_d');
  });

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic dXNlcg==',
    'a.b.c',
    'Bearer a b',
    'Bearer a,b',
    'Bearer a\nb',
    ' Bearer a',
  ])('%j carries no token', (header) => {
    expect(() => bearerToken(header)).toThrow(new AuthError('UNAUTHORISED', 'bearer'));
  });
});
