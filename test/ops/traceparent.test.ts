import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatTraceparent, takeTrace } from '../../src/observe/request-log.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const GIVEN = `00-${TRACE}-${SPAN}-01`;

describe('a well-formed traceparent', () => {
  test('is continued: the same trace, a new span, the same flag', () => {
    const trace = takeTrace(GIVEN);
    expect(trace).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, isSampled: true });
    expect(trace.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(trace.spanId).not.toBe(SPAN);
    expect(formatTraceparent(trace)).toBe(`00-${TRACE}-${trace.spanId}-01`);
  });

  test('has one known flag; others are not passed on', () => {
    expect(formatTraceparent(takeTrace(`00-${TRACE}-${SPAN}-fe`)).slice(-2)).toBe('00');
    expect(formatTraceparent(takeTrace(`00-${TRACE}-${SPAN}-ff`)).slice(-2)).toBe('01');
  });

  test.each([
    `cc-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-what-the-future-brings`,
  ])('a well-formed traceparent of a later version is read as far as it is known: %s', (header) => {
    const trace = takeTrace(header);
    expect(trace).toMatchObject({ traceId: TRACE, parentSpanId: SPAN });
    expect(formatTraceparent(trace)).toMatch(/^00-/);
  });
});

describe('a trace begins here', () => {
  test.each([
    ['without a header', undefined],
    ['with an empty one', ''],
    ['with two', [GIVEN, GIVEN]],
    ['with the version that is forbidden', `ff-${TRACE}-${SPAN}-01`],
    ['with more than version 00 has', `${GIVEN}-00`],
    ['with more, and no dash', `cc-${TRACE}-${SPAN}-01.what`],
    ['with a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['in upper case', GIVEN.toUpperCase()],
    ['with one digit less', GIVEN.slice(1)],
    ['with space around it', ` ${GIVEN}`],
    ['with a book', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(10_000)}`],
    ['with a line break', `${GIVEN}\n`],
  ])('%s', (_name, header) => {
    const trace = takeTrace(header);
    expect(trace.parentSpanId).toBeUndefined();
    expect(trace.traceId).not.toBe(TRACE);
    expect(formatTraceparent(trace)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  test('a trace begins for any text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        expect(formatTraceparent(takeTrace(text))).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
      }),
    );
  });
});

test('no two of many requests have the same ids', () => {
  const ids = new Set<string>();
  for (let request = 0; request < 10_000; request++) {
    const { traceId, spanId } = takeTrace(undefined);
    ids.add(traceId).add(spanId);
  }
  expect(ids.size).toBe(20_000);
});
