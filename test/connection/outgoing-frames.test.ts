import { describe, expect, test } from 'vitest';
import { type OutgoingFrame, OutgoingFrames } from '../../src/switching/connection/outgoing-frames.ts';
import { ask, framing, type Note, notes } from './toy-switch.ts';

interface Write {
  readonly bytes: Uint8Array;
  readonly copy: string;
  readonly onWritten: () => void;
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

function open(overrides: Partial<typeof notes> = {}) {
  const writes: Write[] = [];
  const refused: OutgoingFrame[] = [];
  const whenRefused: (() => void)[] = [];
  const outgoing = new OutgoingFrames<Note>(
    { ...notes, ...overrides },
    (bytes, onWritten) => writes.push({ bytes, copy: text(bytes), onWritten }),
    (frame) => {
      refused.push(frame);
      for (const act of whenRefused.splice(0)) act();
    },
  );
  const append = (note: Note, sendByAtMs = Number.POSITIVE_INFINITY): OutgoingFrame => {
    const frame = { sendByAtMs, writtenAtMs: -1, batch: 0 };
    outgoing.append(note, frame, () => 1);
    return frame;
  };
  return { outgoing, writes, refused, whenRefused, append };
}

describe('outgoing frames', () => {
  test('are sent in one write, each after its header', () => {
    const { outgoing, writes, append } = open();
    const frames = [append(ask('1', 'a')), append(ask('2', 'bb'))];
    expect(writes).toEqual([]);
    outgoing.flush(7);
    expect(writes.map(({ copy }) => copy)).toEqual(['\0\x04?1|a\0\x05?2|bb']);
    expect(frames.map(({ writtenAtMs }) => writtenAtMs)).toEqual([7, 7]);
    outgoing.flush(8);
    expect(writes).toHaveLength(1);
  });

  test('outgoing frames that are too late are dropped, and the others are sent complete', () => {
    const { outgoing, writes, refused, append } = open();
    const late = [append(ask('1', 'late'), 10), append(ask('3', 'late'), 11)];
    append(ask('2', 'in time'), 12);
    append(ask('4'));
    outgoing.flush(11.5);
    expect(writes.map(({ copy }) => copy)).toEqual(['\0\x0a?2|in time\0\x03?4|']);
    expect(refused).toEqual(late);
    expect(late.every(({ writtenAtMs }) => writtenAtMs === -1)).toBe(true);
  });

  test('outgoing frames at their last instant are still sent', () => {
    const { outgoing, writes, append } = open();
    append(ask('1'), 10);
    outgoing.flush(10);
    expect(writes).toHaveLength(1);
  });

  test('outgoing frames that were all refused cause no write', () => {
    const { outgoing, writes, refused, append } = open();
    append(ask('1'), 10);
    outgoing.flush(11);
    append(ask('2'), 20);
    outgoing.flush(12);
    expect(refused).toHaveLength(1);
    expect(writes.map(({ copy }) => copy)).toEqual(['\0\x03?2|']);
  });

  test('outgoing frames never change bytes that the socket still holds', () => {
    const { outgoing, writes, append } = open({ framing: { ...framing, maxFrameBytes: 1_000 } });
    for (let batch = 0; batch < 400; batch++) {
      append(ask(`${batch}`, 'x'.repeat(900)));
      outgoing.flush(1);
      if (batch % 3 === 0) writes[batch]!.onWritten();
    }
    for (const [batch, { bytes, copy, onWritten }] of writes.entries()) {
      if (batch % 3 === 0) continue;
      expect(text(bytes)).toBe(copy);
      onWritten();
    }
  });

  test('reuse memory that the socket has released, instead of growing', () => {
    const { outgoing, writes, append } = open({ framing: { ...framing, maxFrameBytes: 1_000 } });
    for (let batch = 0; batch < 1_000; batch++) {
      append(ask(`${batch}`, 'x'.repeat(900)));
      outgoing.flush(1);
      writes[batch]!.onWritten();
    }
    expect(new Set(writes.map(({ bytes }) => bytes.buffer)).size).toBe(1);
  });

  test('are wiped when the socket has released them', () => {
    const { outgoing, writes, append } = open();
    append(ask('1', 'a secret'));
    outgoing.flush(1);
    append(ask('2', 'another'));
    outgoing.flush(1);
    // The memory after it was never written to: it may contain anything.
    const memory = Buffer.from(writes[0]!.bytes.buffer, 0, writes[1]!.bytes.byteOffset + writes[1]!.bytes.length);
    writes[0]!.onWritten();
    expect(memory.includes('another')).toBe(true);
    writes[1]!.onWritten();
    expect(memory.includes('secret') || memory.includes('another')).toBe(false);
  });

  test('are wiped if they were too late, could not be encoded or were too long', () => {
    const { outgoing, writes, append } = open({
      framing: { ...framing, maxFrameBytes: 100 },
      encode(note, target, offset) {
        const end = notes.encode(note, target, offset);
        if (note.text === 'half a secret') throw new RangeError('half written');
        return end;
      },
    });
    append(ask('1', 'a late secret'), 10);
    append(ask('2', 'short'));
    outgoing.flush(11);
    expect(() => append(ask('3', 'half a secret'))).toThrow('half written');
    expect(() => append(ask('4', `a long secret${'!'.repeat(100)}`))).toThrow();
    writes[0]!.onWritten();
    expect(Buffer.from(writes[0]!.bytes.buffer, 0, 150).includes('secret')).toBe(false);
  });

  test('are sent complete if others of the tick are refused, also at the end of a memory block', () => {
    const { outgoing, writes, whenRefused, append } = open({ framing: { ...framing, maxFrameBytes: 30_000 } });
    append(ask('1', 'x'.repeat(29_000)), 0);
    append(ask('2', 'x'.repeat(29_000)));
    whenRefused.push(() => append(ask('3', 'sign off')));
    append(ask('4', 'reply'));
    outgoing.flush(1);
    const left = writes.map(({ copy }) => copy.replaceAll(/x+/g, '')).join(' ');
    expect(left).toContain('?3|sign off');
    expect(left).toContain('?4|reply');
  });

  test('outgoing frames of a tick that exceed a memory block are sent in several writes, in order', () => {
    const { outgoing, writes, append } = open({ framing: { ...framing, maxFrameBytes: 1_000 } });
    const expected: string[] = [];
    for (let number = 0; number < 500; number++) {
      append(ask(`${number}`, 'y'.repeat(900)));
      expected.push(`?${number}|${'y'.repeat(900)}`);
    }
    outgoing.flush(1);
    expect(writes.length).toBeGreaterThan(1);
    expect(writes.length).toBeLessThan(20);
    const stream = writes.map(({ copy }) => copy).join('');
    const read: string[] = [];
    for (let at = 0; at < stream.length; ) {
      const length = stream.charCodeAt(at) * 256 + stream.charCodeAt(at + 1);
      read.push(stream.slice(at + 2, at + 2 + length));
      at += 2 + length;
    }
    expect(read).toEqual(expected);
  });

  test('outgoing frames that cannot be encoded leave nothing behind, and do not affect others', () => {
    const { outgoing, writes, append } = open({
      encode(note, target, offset) {
        const end = notes.encode(note, target, offset);
        if (note.text === 'fault') throw new RangeError('half written');
        return end;
      },
    });
    append(ask('1'));
    expect(() => append(ask('2', 'fault'))).toThrow('half written');
    append(ask('3'));
    outgoing.flush(1);
    expect(writes.map(({ copy }) => copy)).toEqual(['\0\x03?1|\0\x03?3|']);
  });

  test('longer than the longest frame, or empty, are refused', () => {
    const { append } = open({ framing: { ...framing, maxFrameBytes: 10 } });
    expect(() => append(ask('1', '12345678'))).toThrow(expect.objectContaining({ code: 'MESSAGE_LENGTH' }));
    append(ask('1', '1234567'));
    const empty = open({ encode: (_note, _target, offset) => offset });
    expect(() => empty.append(ask('1'))).toThrow(expect.objectContaining({ code: 'MESSAGE_LENGTH' }));
  });

  test('know whether their bytes may still be in this process', () => {
    const { outgoing, writes, append } = open();
    const first = append(ask('1'));
    expect(outgoing.isUnsent(first)).toBe(true);
    outgoing.flush(1);
    const second = append(ask('2'));
    outgoing.flush(2);
    writes[0]!.onWritten();
    expect([first, second].map((frame) => outgoing.isUnsent(frame))).toEqual([false, true]);
    writes[1]!.onWritten();
    expect(outgoing.isUnsent(second)).toBe(false);
  });
});
