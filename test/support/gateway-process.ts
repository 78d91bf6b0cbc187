import { eventually } from './eventually.ts';
import type { Installation } from './installation.ts';
import { TapwireProcess } from './tapwire-process.ts';

/** Node reads and compiles all of the gateway first, which takes a busy machine long. */
const STARTS_WITHIN_MS = 60_000;

/** A gateway as `tapwire start` runs it, in a process of its own; gone with the test at the latest. */
export class GatewayProcess extends TapwireProcess {
  /** Starts a gateway of an installation and waits until it is up. */
  static async start(
    installation: Installation,
    role: 'all' | 'api' | 'worker',
    settings: NodeJS.ProcessEnv = {},
    cwd?: string,
  ): Promise<GatewayProcess> {
    const environment = installation.environment(settings);
    const gateway = new GatewayProcess(['start', '--role', role], { environment, cwd });
    await eventually(() => gateway.url, STARTS_WITHIN_MS);
    return gateway;
  }

  /** Where it listens, by its own word. @throws while it is not up */
  get url(): string {
    const url = /"url":"([^"]+)"/.exec(this.output)?.[1];
    if (url === undefined) throw new Error(`no gateway yet: ${this.output}`);
    return url;
  }
}
