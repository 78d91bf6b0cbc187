import { describe, expect, test } from 'vitest';
import { isResponse, pairingKey, parseMti, responseMti } from '../../src/codecs/iso8583/message.ts';

describe('an MTI', () => {
  test('contains version, class, function and origin', () => {
    expect(parseMti('0200')).toEqual({
      version: 'ISO 8583:1987',
      class: 'financial',
      function: 'request',
      origin: 'acquirer',
    });
    expect(parseMti('2445')).toEqual({
      version: 'ISO 8583:2003',
      class: 'reversal',
      function: 'notification',
      origin: 'other repeat',
    });
  });

  test.each(['', '020', '02000', '3200', '0000', '0280', '0209', 'abcd'])('%j is not one', (text) => {
    expect(parseMti(text)).toBeUndefined();
    expect(responseMti(text)).toBeUndefined();
  });

  test.each([
    ['0100', '0110'],
    ['0200', '0210'],
    ['0201', '0210'],
    ['0202', '0212'],
    ['0420', '0430'],
    ['0421', '0430'],
    ['0800', '0810'],
    ['1644', '1654'],
  ])('the response to %s is %s', (request, response) => {
    expect(responseMti(request)).toBe(response);
    expect([isResponse(request), isResponse(response)]).toEqual([false, true]);
  });

  test('an MTI of a response has no response', () => {
    expect(responseMti('0210')).toBeUndefined();
  });
});

describe('pairing', () => {
  const request = { mti: '0200', stan: '000123', tid: 'TERM0001', amount: '000000000100' };
  const response = { mti: '0210', stan: '000123', tid: 'TERM0001' };
  const isPair = (other: typeof response, fields: string[]) =>
    pairingKey(request, fields) === pairingKey(other, fields);

  test('uses class and fields', () => {
    expect(isPair(response, ['stan', 'tid'])).toBe(true);
    expect(isPair({ ...response, stan: '000124' }, ['stan', 'tid'])).toBe(false);
    expect(isPair({ ...response, mti: '0110' }, ['stan', 'tid'])).toBe(false);
  });

  test('pairing never matches with a missing field, in both or in one', () => {
    expect(pairingKey(response, ['stan', 'amount'])).toBeUndefined();
    expect(pairingKey(request, ['stan', 'rrn'])).toBeUndefined();
  });
});
