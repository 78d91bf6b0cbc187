import { HsmDeviceError } from '../../../errors.ts';
import type { HostCommand } from '../host-command.ts';
import type { DeviceConnection } from './connection.ts';

interface Waiting {
  send(connection: DeviceConnection): void;
  reject(error: HsmDeviceError): void;
}

/** Commands that wait for a place on a connection, in order. The time limit of a command includes its wait. */
export class CommandQueue {
  readonly #deviceName: string;
  readonly #most: number;
  readonly #waiting = new Set<Waiting>();

  constructor(deviceName: string, most: number) {
    this.#deviceName = deviceName;
    this.#most = most;
  }

  get length(): number {
    return this.#waiting.size;
  }

  /** @throws HsmDeviceError BUSY, TIMEOUT, or those of the connection */
  add<Result>(command: HostCommand<Result>, timeoutMs: number): Promise<Result> {
    const where = `${this.#deviceName}, ${command.code}`;
    if (this.#waiting.size >= this.#most) return Promise.reject(new HsmDeviceError('BUSY', where));
    const endsAtMs = performance.now() + timeoutMs;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        send: (connection) => {
          clearTimeout(timer);
          resolve(connection.send(command, endsAtMs - performance.now()));
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(new HsmDeviceError('BUSY', where));
      }, timeoutMs);
      this.#waiting.add(waiting);
    });
  }

  /** @returns whether a command was waiting */
  sendNext(connection: DeviceConnection): boolean {
    const [next] = this.#waiting;
    if (next === undefined) return false;
    this.#waiting.delete(next);
    next.send(connection);
    return true;
  }

  rejectAll(error: HsmDeviceError): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const each of waiting) each.reject(error);
  }
}
