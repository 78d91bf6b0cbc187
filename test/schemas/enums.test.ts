import { describe, expect, test } from 'vitest';
import { DISPOSITION_TEXTS, ENUMS, QR_CODE_STATE_TEXTS, STATUSES, TRANSACTION_TYPES } from '../../schemas/enums.ts';
import { RESPONSE_CODES, responseCodeText } from '../../schemas/response-codes.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { LinkState } from '../../src/payments/model/link.ts';
import { Status } from '../../src/payments/model/status.ts';
import { TRANSACTION_TYPE_NAMES } from '../../src/payments/model/transaction.ts';

const namesById = (entries: readonly { readonly id: number; readonly name: string }[]) =>
  Object.fromEntries(entries.map(({ id, name }) => [name, id]));

describe('the lists of /enums agree with the gateway', () => {
  test('statuses', () => expect(namesById(STATUSES)).toEqual(Status));
  test('dispositions', () => expect(namesById(DISPOSITION_TEXTS)).toEqual(Disposition));
  test('types', () => {
    expect(Object.fromEntries(TRANSACTION_TYPES.map(({ id, name }) => [id, name]))).toEqual(TRANSACTION_TYPE_NAMES);
  });
  test('states of links', () => expect(namesById(QR_CODE_STATE_TEXTS)).toEqual(LinkState));
  test('response codes: two characters, in order, each with its text', () => {
    const codes = ENUMS.responseCodes.map(({ code }) => code);
    expect(codes).toEqual([...codes].sort());
    expect(codes).toHaveLength(Object.keys(RESPONSE_CODES).length);
    for (const { code, text } of ENUMS.responseCodes) {
      expect(code).toMatch(/^\d\d$/);
      expect(responseCodeText(code)).toBe(text);
    }
    expect(responseCodeText('1A')).toBe('Unknown response code');
  });
});
