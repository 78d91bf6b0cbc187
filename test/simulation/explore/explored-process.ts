import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';
import { OriginalConnections } from '../../../src/payments/model/switch-revision.ts';
import type { RequestKey } from '../../../src/payments/ports/store-ports.ts';
import type { Task } from './task.ts';

/** As in src/switching/switches/standard-fields.ts. */
export function approvalKey({ tid, stan, rrn }: IsoMessage): string {
  return `${tid} ${stan} ${rrn}`;
}

/** What a process remembers besides its tasks. */
export class ExploredProcess {
  readonly name: string;
  /** Increases with each death: a successor remembers nothing. */
  readonly generation: number;
  isAlive = true;
  connection = 1;
  readonly originals = new RememberedConnections();
  /** Requests that it has seen approved, by `approvalKey`. */
  readonly approvals = new Map<string, RequestKey>();
  /** The clocks of two nodes are two minutes apart. No clock of a process may decide anything. */
  readonly wallOffsetMs: number;

  constructor(name: string, generation: number, wallOffsetMs: number) {
    this.name = name;
    this.generation = generation;
    this.wallOffsetMs = wallOffsetMs;
  }

  get connectionId(): string {
    return `${this.name}${this.generation}.${this.connection}`;
  }

  successor(): ExploredProcess {
    return new ExploredProcess(this.name, this.generation + 1, this.wallOffsetMs);
  }

  copy(): ExploredProcess {
    const copy = new ExploredProcess(this.name, this.generation, this.wallOffsetMs);
    copy.connection = this.connection;
    copy.isAlive = this.isAlive;
    for (const [key, request] of this.approvals) copy.approvals.set(key, request);
    for (const [id, connectionId] of this.originals.all) copy.originals.remember(id, connectionId);
    return copy;
  }
}

/** Connections whose memory can be read. */
class RememberedConnections extends OriginalConnections {
  readonly all = new Map<string, string>();

  /** As a task sees it, which may run again. */
  of(task: Task): OriginalConnections {
    return new ConnectionsOfTask(this, task);
  }

  override remember(transactionId: string, connectionId: string): void {
    this.all.set(transactionId, connectionId);
  }

  override find(transactionId: string): string | undefined {
    return this.all.get(transactionId);
  }
}

class ConnectionsOfTask extends OriginalConnections {
  readonly #shared: OriginalConnections;
  readonly #task: Task;

  constructor(shared: OriginalConnections, task: Task) {
    super();
    this.#shared = shared;
    this.#task = task;
  }

  override remember(transactionId: string, connectionId: string): void {
    this.#task.recall('remember', () => this.#shared.remember(transactionId, connectionId));
  }

  override find(transactionId: string): string | undefined {
    return this.#task.recall('original', () => this.#shared.find(transactionId));
  }
}
