import { afterEach, describe, expect, test, vi } from 'vitest';
import { HsmDeviceError } from '../../src/basics/errors.ts';
import { CommandQueue } from '../../src/hsm-devices/payshield/device/command-queue.ts';
import type { DeviceConnection } from '../../src/hsm-devices/payshield/device/connection.ts';
import type { HostCommand } from '../../src/hsm-devices/payshield/host-command.ts';

/** A command whose code names it. */
const command = (code: string): HostCommand<string> => ({ code, body: Buffer.alloc(0), read: () => code });

/** A connection that responds to each command at once with its code. */
const connection = { send: async ({ code }: HostCommand<string>) => code } as unknown as DeviceConnection;

/** The outcomes of commands, in the order in which they end. */
class Outcomes {
  readonly ended: string[] = [];

  add(queue: CommandQueue, user: string, code: string, timeoutMs = 1_000): void {
    queue.add(command(code), user, timeoutMs).then(
      (result) => this.ended.push(result),
      (error: HsmDeviceError) => this.ended.push(`${code} ${error.code}`),
    );
  }

  /** Sends all commands that wait. */
  async drain(queue: CommandQueue): Promise<readonly string[]> {
    while (queue.sendNext(connection)) await Promise.resolve();
    await new Promise(setImmediate);
    return this.ended;
  }
}

afterEach(() => void vi.useRealTimers());

describe('a queue of commands', () => {
  test('keeps the order of one user', async () => {
    const queue = new CommandQueue('hsm-1', 10);
    const outcomes = new Outcomes();
    for (const code of ['A1', 'A2', 'A3']) outcomes.add(queue, '1', code);
    expect(await outcomes.drain(queue)).toEqual(['A1', 'A2', 'A3']);
    expect(queue.length).toBe(0);
  });

  test('gives each user a turn', async () => {
    const queue = new CommandQueue('hsm-1', 10);
    const outcomes = new Outcomes();
    for (const code of ['A1', 'A2', 'A3', 'A4']) outcomes.add(queue, '1', code);
    outcomes.add(queue, '2', 'B1');
    outcomes.add(queue, '2', 'B2');
    outcomes.add(queue, '3', 'C1');
    expect(await outcomes.drain(queue)).toEqual(['A1', 'B1', 'C1', 'A2', 'B2', 'A3', 'A4']);
  });

  test('lets a user with few commands in when another one has filled it', async () => {
    const queue = new CommandQueue('hsm-1', 4);
    const outcomes = new Outcomes();
    for (const code of ['A1', 'A2', 'A3', 'A4', 'A5']) outcomes.add(queue, '1', code);
    for (const code of ['B1', 'B2', 'B3']) outcomes.add(queue, '2', code);
    expect(queue.length).toBe(4);
    expect(await outcomes.drain(queue)).toEqual(['A5 BUSY', 'A4 BUSY', 'A3 BUSY', 'B3 BUSY', 'A1', 'B1', 'A2', 'B2']);
  });

  test('forgets a command at its time limit, and a user with its last command', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const queue = new CommandQueue('hsm-1', 4);
    const outcomes = new Outcomes();
    outcomes.add(queue, '1', 'A1', 50);
    outcomes.add(queue, '2', 'B1', 500);
    await vi.advanceTimersByTimeAsync(60);
    expect(queue.length).toBe(1);
    expect(await outcomes.drain(queue)).toEqual(['A1 BUSY', 'B1']);
    expect(queue.length).toBe(0);
  });

  test('rejects all that wait, and takes commands again', async () => {
    const queue = new CommandQueue('hsm-1', 4);
    const outcomes = new Outcomes();
    outcomes.add(queue, '1', 'A1');
    outcomes.add(queue, '2', 'B1');
    queue.rejectAll(new HsmDeviceError('CLOSED', 'hsm-1'));
    outcomes.add(queue, '1', 'A2');
    expect(queue.length).toBe(1);
    expect(await outcomes.drain(queue)).toEqual(['A1 CLOSED', 'B1 CLOSED', 'A2']);
  });
});
