import { expect, test } from 'vitest';
import { Throttled } from '../../src/basics/errors.ts';
import { TapLimits } from '../../src/http/rate-limit.ts';
import type { Principal } from '../../src/payments/ports/directory-ports.ts';

const TILL: Principal = { acquirerId: 1, merchantId: '1001', userClaim: 'till', xTid: null, profileName: null };
const LINK: Principal = { ...TILL, userClaim: null, consumerId: 'link 1' };

/** One a second per link, two per token, three per merchant: those of ten seconds may come at once. */
function limitsAt(clock: { nowMs: number }) {
  return new TapLimits({ perLink: 1, perToken: 2, perMerchant: 3, monotonicMs: () => clock.nowMs });
}

function admitted(limits: TapLimits, count: number, principal: Principal, token: string): number {
  let taken = 0;
  for (let made = 0; made < count; made++) {
    try {
      limits.admit(principal, token);
      taken++;
    } catch (error) {
      expect(error).toBeInstanceOf(Throttled);
    }
  }
  return taken;
}

test('a link has its quota with any token, and gets more with time', () => {
  const clock = { nowMs: 0 };
  const limits = limitsAt(clock);
  expect(admitted(limits, 20, LINK, 'signature-a')).toBe(10);
  expect(admitted(limits, 20, LINK, 'signature-b')).toBe(0);
  clock.nowMs += 2_000;
  expect(admitted(limits, 20, LINK, 'signature-a')).toBe(2);
});

test('each token has its quota, and all tokens of a merchant have one', () => {
  const limits = limitsAt({ nowMs: 0 });
  expect(admitted(limits, 40, TILL, 'the first signature')).toBe(20);
  expect(admitted(limits, 40, TILL, 'a second signature')).toBe(10);
  expect(admitted(limits, 40, { ...TILL, merchantId: '1002' }, 'the third signature')).toBe(20);
  expect(admitted(limits, 40, { ...TILL, acquirerId: 2 }, 'a fourth signature')).toBe(20);
});

test('the tokens of links use nothing of the quota of the tills', () => {
  const limits = limitsAt({ nowMs: 0 });
  for (let link = 0; link < 10; link++) admitted(limits, 10, { ...LINK, consumerId: `link ${link}` }, 'signature');
  expect(admitted(limits, 40, { ...LINK, consumerId: 'another link' }, 'signature')).toBe(0);
  expect(admitted(limits, 40, TILL, 'the first signature')).toBe(20);
});

test('0 is no limit', () => {
  const limits = new TapLimits({ perLink: 0, perToken: 0, perMerchant: 0, monotonicMs: () => 0 });
  expect(admitted(limits, 100_000, TILL, 'the first signature')).toBe(100_000);
});
