import { SpanKind } from '@opentelemetry/api';
import { afterEach, expect, test, vi } from 'vitest';
import { openTracing } from '../../src/observe/tracing/open-tracing.ts';
import { type LogLine, logTo } from '../support/log-lines.ts';

/** No server listens on port 1 (tcpmux). */
const AWAY = 'http://127.0.0.1:1';

const lines: LogLine[] = [];
const settings = { share: 1, env: 'dev', role: 'all', log: logTo(lines) };

afterEach(() => {
  vi.doUnmock('@opentelemetry/exporter-trace-otlp-http');
  lines.length = 0;
});

test('nothing creates spans without a collector', async () => {
  expect(await openTracing({ ...settings, endpoint: undefined })).toBeUndefined();
});

test('a collector without the packages for sending to it refuses the start and states what to do', async () => {
  vi.doMock('@opentelemetry/exporter-trace-otlp-http', () => {
    throw new Error('not installed');
  });
  await expect(openTracing({ ...settings, endpoint: AWAY })).rejects.toMatchObject({
    name: 'StartError',
    code: 'BAD_CONFIG',
    message: expect.stringContaining('npm ci'),
  });
});

test('an unavailable collector fails no work and no stop; the log reports it, without its address', async () => {
  const { tracing, close } = (await openTracing({ ...settings, endpoint: AWAY }))!;
  const work = { name: 'work', kind: SpanKind.INTERNAL };
  expect(await tracing.within(work, async () => 'done')).toBe('done');
  await expect(tracing.within(work, () => Promise.reject(new RangeError('4111111111111111')))).rejects.toThrow(
    RangeError,
  );
  await close();
  expect(lines.map(({ msg }) => msg)).toContain('spans could not be sent to the collector');
  expect(JSON.stringify(lines)).not.toMatch(/127\.0\.0\.1|4111/);
});
