import type { AttemptName } from '../../payments/ports/switch-ports.ts';
import type { StandardFields } from './standard-fields.ts';

/**
 * Limit of remembered approvals. In ordinary traffic it covers minutes, at full speed seconds: a switch that responds
 * to a request twice does so at once.
 */
const MAX_APPROVALS = 8_192;

type Identity = Pick<StandardFields, 'tid' | 'stan' | 'rrn'>;

/**
 * Which requests this process has seen approved lately. A second approval of the same request, which usually follows at
 * once, is found with it. Otherwise the database searches for the request by time, when the response is looked up for the
 * last time: after a restart, on the connection of another process, or when the approval was long ago.
 */
export class RecentApprovals {
  /** Oldest first. */
  readonly #approved = new Map<string, AttemptName>();

  add(identity: Identity, { acquirerId, id, attempt }: AttemptName): void {
    this.#approved.set(keyOf(identity), { acquirerId, id, attempt });
    if (this.#approved.size > MAX_APPROVALS) this.#approved.delete(this.#approved.keys().next().value!);
  }

  find(identity: Identity): AttemptName | undefined {
    return this.#approved.get(keyOf(identity));
  }
}

function keyOf({ tid = '', stan = '', rrn = '' }: Identity): string {
  return `${tid} ${stan} ${rrn}`;
}
