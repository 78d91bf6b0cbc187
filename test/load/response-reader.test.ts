import { describe, expect, test } from 'vitest';
import { type HttpResponse, ResponseReader } from '../../src/tools/load/connection-pool.ts';

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const CHUNKED = 'HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n';
const EARLY = `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${SIZED}`;

function readAll(pieces: readonly string[]): HttpResponse | 'bad' | undefined {
  const reader = new ResponseReader();
  let last: HttpResponse | 'bad' | undefined;
  for (const piece of pieces) last = reader.read(Buffer.from(piece));
  return last;
}

describe('a response', () => {
  test.each([
    ['of a stated length', SIZED, 200],
    ['in chunks', CHUNKED, 503],
    ['after an informational one', EARLY, 200],
  ])('%s is complete with its last byte, however it is split', (_how, text, status) => {
    for (let at = 1; at < text.length; at++) {
      const response = readAll([text.slice(0, at), text.slice(at)]);
      expect(response).toMatchObject({ status, keepsAlive: true });
      expect((response as HttpResponse).body.toString()).toBe('hello');
      expect(readAll([text.slice(0, at)])).toBeUndefined();
    }
  });

  test('a response without length ends with its connection', () => {
    const reader = new ResponseReader();
    expect(reader.read(Buffer.from('HTTP/1.0 200 OK\r\n\r\nhel'))).toBeUndefined();
    expect(reader.read(Buffer.from('lo'))).toBeUndefined();
    expect(reader.finish()).toMatchObject({ status: 200, keepsAlive: false });
  });

  test('a response that ends before its end is invalid', () => {
    const reader = new ResponseReader();
    reader.read(Buffer.from(SIZED.slice(0, -1)));
    expect(reader.finish()).toBeUndefined();
  });

  test('shows that its connection ends', () => {
    const response = readAll(['HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n']);
    expect(response).toMatchObject({ keepsAlive: false });
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['a chunk without length', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    ['more than any response', 'HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n'],
  ])('a response that is %s is bad', (_what, text) => {
    expect(readAll([text])).toBe('bad');
  });
});
