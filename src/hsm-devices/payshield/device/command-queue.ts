import { HsmDeviceError } from '../../../basics/errors.ts';
import type { HostCommand } from '../host-command.ts';
import type { DeviceConnection } from './connection.ts';

interface Waiting {
  send(connection: DeviceConnection): void;
  reject(error: HsmDeviceError): void;
}

/**
 * Commands that wait for a place on a connection. The users of the device take turns, and the commands of each keep their
 * order. In a full queue, a command takes the place of the newest one of the user with the most commands. An acquirer
 * that needs more than the device can do therefore delays its own taps, and hardly those of others.
 *
 * The time limit of a command includes its wait.
 */
export class CommandQueue {
  readonly #deviceName: string;
  readonly #most: number;
  /** By user, the next one first. A user without commands has no entry. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #length = 0;

  constructor(deviceName: string, most: number) {
    this.#deviceName = deviceName;
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  /** @throws HsmDeviceError BUSY, TIMEOUT, or those of the connection */
  add<Result>(command: HostCommand<Result>, user: string, timeoutMs: number): Promise<Result> {
    const busy = () => new HsmDeviceError('BUSY', `${this.#deviceName}, ${command.code}`);
    if (this.#length >= this.#most && !this.#makeRoom(user)) return Promise.reject(busy());
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
        this.#remove(user, waiting);
        reject(busy());
      }, timeoutMs);
      this.#commandsOf(user).add(waiting);
      this.#length++;
    });
  }

  /** @returns whether a command was waiting */
  sendNext(connection: DeviceConnection): boolean {
    const [turn] = this.#waiting;
    if (turn === undefined) return false;
    const [user, commands] = turn;
    const [next] = commands;
    this.#remove(user, next!);
    if (this.#waiting.delete(user)) this.#waiting.set(user, commands); // behind the others
    next!.send(connection);
    return true;
  }

  rejectAll(error: HsmDeviceError): void {
    const waiting = [...this.#waiting.values()].flatMap((commands) => [...commands]);
    this.#waiting.clear();
    this.#length = 0;
    for (const each of waiting) each.reject(error);
  }

  /** @returns false if no other user has more commands than this one */
  #makeRoom(user: string): boolean {
    let most: [user: string, commands: ReadonlySet<Waiting>] | undefined;
    for (const entry of this.#waiting) if (entry[1].size > (most?.[1].size ?? 0)) most = entry;
    if (most === undefined || most[1].size <= (this.#waiting.get(user)?.size ?? 0)) return false;
    const [crowder, commands] = most;
    const newest = [...commands].at(-1)!;
    this.#remove(crowder, newest);
    newest.reject(new HsmDeviceError('BUSY', this.#deviceName));
    return true;
  }

  #commandsOf(user: string): Set<Waiting> {
    const commands = this.#waiting.get(user) ?? new Set();
    this.#waiting.set(user, commands);
    return commands;
  }

  #remove(user: string, waiting: Waiting): void {
    const commands = this.#waiting.get(user);
    if (!commands?.delete(waiting)) return;
    this.#length--;
    if (commands.size === 0) this.#waiting.delete(user);
  }
}
