import { expect, test } from 'vitest';
import { classifyOutcome, type OutcomeContext } from '../../src/kits/processor-kit/classify-outcome.ts';
import type { ResponseCodes } from '../../src/kits/processor-kit/processor.ts';

const codes: ResponseCodes = {
  approved: ['00', '08'],
  partial: ['10'],
  declined: ['05', '65'],
  review: ['94'],
  pinRequired: [
    { code: '70', scheme: 'Visa' },
    { code: '65', scheme: 'Mastercard', needs: 'singleTapFlag' },
    { code: '1A', scheme: 'Amex', needs: 'authentication' },
    { code: '55' },
  ],
};

const context: OutcomeContext = {
  requestedMinor: 1_000,
  respondedMinor: 1_000,
  partialAllowed: false,
  scheme: 'Visa',
  singleTapFlag: false,
  issuerAuthenticationData: '',
};

const outcomeOf = (responseCode: string, differing: Partial<OutcomeContext> = {}) =>
  classifyOutcome(codes, { responseCode, cardTags: [] }, { ...context, ...differing });

test('a code of the approval table approves what was requested', () => {
  expect(outcomeOf('08')).toMatchObject({ kind: 'approved', approvedMinor: 1_000 });
});

test('a partial approval is for the amount of the response, and only if the request allowed it', () => {
  expect(outcomeOf('10', { partialAllowed: true, respondedMinor: 400 })).toMatchObject({
    kind: 'approved',
    approvedMinor: 400,
  });
  expect(outcomeOf('10', { respondedMinor: 400 })).toMatchObject({ kind: 'unknown' });
});

test.each([undefined, 0, 1_001, Number.NaN])('a partial approval of %s is unknown', (respondedMinor) => {
  expect(outcomeOf('10', { partialAllowed: true, respondedMinor })).toMatchObject({ kind: 'unknown' });
});

test('a PIN is required with the code of the card’s own scheme', () => {
  expect(outcomeOf('70')).toMatchObject({ kind: 'pinRequired' });
  expect(outcomeOf('70', { scheme: 'Mastercard' })).toMatchObject({ kind: 'unknown' });
  expect(outcomeOf('55', { scheme: 'anything' })).toMatchObject({ kind: 'pinRequired' });
});

test('65 requires a PIN only with the issuer’s flag, and declines without it', () => {
  expect(outcomeOf('65', { scheme: 'Mastercard', singleTapFlag: true })).toMatchObject({ kind: 'pinRequired' });
  expect(outcomeOf('65', { scheme: 'Mastercard' })).toMatchObject({ kind: 'declined' });
});

test('the flag of one scheme’s issuers does not count for another scheme', () => {
  // 13 at the end of tag 91 sets the PIN try counter of a Mastercard, and requests the PIN of an Amex.
  const issuerAuthenticationData = '0123456789ABCDEF0013';
  expect(outcomeOf('65', { scheme: 'Mastercard', issuerAuthenticationData })).toMatchObject({ kind: 'declined' });
  expect(outcomeOf('1A', { scheme: 'Amex', issuerAuthenticationData })).toMatchObject({ kind: 'pinRequired' });
  expect(outcomeOf('1A', { scheme: 'Amex', singleTapFlag: true })).toMatchObject({ kind: 'unknown' });
});

test('a duplicate transmission declines and needs review', () => {
  expect(outcomeOf('94')).toMatchObject({ kind: 'declined', needsReview: true });
});

test.each(['', '09', '68', 'ZZ', '0', '000'])('code "%s" of no table is unknown', (code) => {
  expect(outcomeOf(code)).toMatchObject({ kind: 'unknown' });
});
