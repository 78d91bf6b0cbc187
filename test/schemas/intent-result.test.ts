import { describe, expect, test } from 'vitest';
import { ERROR_CODE_RANGES, ERROR_CODES, errorCodeText } from '../../schemas/error-codes.ts';
import { RESULT_TYPES, type ResultType, readIntentResult, resultTypeOf } from '../../schemas/intent-result.ts';
import { DISPOSITIONS } from '../../schemas/transaction.ts';

const ID = '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11';

describe('an outcome and a code give result_transaction_type', () => {
  test.each([
    ['Approved', 'Approved'],
    ['Declined', 'Declined'],
    ['DeclinedOffline', 'TryAnotherCard'],
    ['UnableToGoOnline', 'NetworkError'],
    ['Indeterminate', 'Indeterminate'],
    ['Voided', 'Declined'],
  ] as const)('%s is %s, with any code', (disposition, type) => {
    for (const { code } of ERROR_CODES) expect(resultTypeOf({ disposition, errorCode: code })).toBe(type);
    expect(resultTypeOf({ disposition })).toBe(type);
  });

  const types: Readonly<Record<ResultType, readonly number[]>> = {
    Approved: [0],
    Declined: [1, 65, 209, 211],
    CardTapTimeOutExpired: [318],
    NetworkError: [210, 305],
    ProcessingError: [
      103, 104, 119, 122, 123, 134, 136, 201, 202, 203, 208, 212, 213, 301, 302, 303, 311, 319, 399, 401, 402, 403, 410,
    ],
    Cancelled: [317],
    TryAnotherCard: [2],
    NFCDisabledError: [300],
    NotAuthenticated: [100, 101, 102, 105, 106, 107, 108, 109, 110, 132, 139],
    Indeterminate: [],
    DuplicateMerchantTransactionReferenceSupplied: [124],
    InvalidJWT: [117, 118, 304],
  };

  test.each(Object.entries(types))('%s without an outcome has one of the codes %j', (type, codes) => {
    for (const errorCode of codes) expect(resultTypeOf({ errorCode })).toBe(type);
  });

  test('every named code is in that table once, and every type is reached', () => {
    const listed = Object.values(types)
      .flat()
      .sort((one, other) => one - other);
    expect(listed).toEqual(ERROR_CODES.map(({ code }) => code));
    const reached = new Set<string>([
      ...DISPOSITIONS.map((disposition) => resultTypeOf({ disposition })),
      ...ERROR_CODES.map(({ code }) => resultTypeOf({ errorCode: code })),
    ]);
    expect(RESULT_TYPES.filter((type) => !reached.has(type))).toEqual([]);
    expect(RESULT_TYPES).toHaveLength(12);
  });

  test('a code of a range, an unknown one and none are a ProcessingError', () => {
    for (const errorCode of [3, 99, 116, 299, 323, 404, 500, 9_999, -1, Number.NaN, undefined, null]) {
      expect(resultTypeOf({ errorCode })).toBe('ProcessingError');
    }
  });
});

describe('result extras are read', () => {
  test('result extras of a payment are read', () => {
    const extras = {
      result_transaction_id: ID,
      result_transaction_type: 'Approved',
      result_transaction_error_code: '0',
    };
    expect(readIntentResult({ ...extras, later: 'unknown extras are ignored' })).toEqual({
      transactionId: ID,
      type: 'Approved',
      isSuccess: true,
      next: 'confirm',
      error: { code: 0, name: 'OK', meaning: 'The operation succeeded' },
    });
  });

  test('result extras are read without a transaction, and with an unknown code', () => {
    const extras = { result_transaction_type: 'NetworkError', result_transaction_error_code: '777' };
    expect(readIntentResult(extras)).toEqual({
      transactionId: undefined,
      type: 'NetworkError',
      isSuccess: false,
      next: 'tryAgain',
      error: { code: 777, name: 'Unknown', meaning: 'Unknown error code; this version has no text for it' },
    });
  });

  test.each(RESULT_TYPES)('%s: success is only Approved, and what may have been paid is not retried', (type) => {
    const { isSuccess, next, error } = readIntentResult({ result_transaction_type: type });
    expect(isSuccess).toBe(type === 'Approved');
    expect(error).toBeUndefined();
    if (['Indeterminate', 'ProcessingError'].includes(type)) expect(next).toBe('checkStatus');
  });

  test.each([
    undefined,
    {},
    { result_transaction_type: 'approved' },
    { result_transaction_type: 'Approved', result_transaction_error_code: 'x' },
    { result_transaction_type: 'Approved', result_transaction_error_code: '1'.repeat(7) },
    { result_transaction_type: 'Approved', result_transaction_id: '1' },
  ])('%j is refused', (extras) => {
    expect(() => readIntentResult(extras)).toThrow();
  });
});

describe('a code has a text', () => {
  test('a code has a text of its own, or else of its range', () => {
    expect(errorCodeText(100)?.name).toBe('Unauthorised');
    expect(errorCodeText(65)?.name).toBe('PinRequired');
    expect(errorCodeText(211)?.name).toBe('InvalidPinData');
  });

  test('a code has a text of its range, at both ends', () => {
    for (const { from, to, name } of ERROR_CODE_RANGES) {
      const own = new Set(ERROR_CODES.map(({ code }) => code));
      for (const code of [from, to]) if (!own.has(code)) expect(errorCodeText(code)?.name).toBe(name);
    }
  });

  test.each([-1, 2.5, 324, 400, 406, 411, 500])('the code %j has no text', (code) => {
    expect(errorCodeText(code)).toBeUndefined();
  });
});
