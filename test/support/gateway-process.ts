import { eventually } from './eventually.ts';
import type { Installation } from './installation.ts';
import { TapwireProcess } from './tapwire-process.ts';

/** Node reads and compiles the whole gateway first, which takes long on a busy machine. */
const STARTS_WITHIN_MS = 240_000;

/** A gateway started with `tapwire start`, in its own process; it ends with the test at the latest. */
export class GatewayProcess extends TapwireProcess {
  /** Starts a gateway of an installation and waits until it is ready. */
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

  /** Starts several processes behind one port, and waits until all are ready and signed on. */
  static async startGroup(
    installation: Installation,
    count: number,
    settings: NodeJS.ProcessEnv = {},
  ): Promise<GatewayProcess> {
    const group = await GatewayProcess.start(installation, 'all', { TAPWIRE_PROCESSES: `${count}`, ...settings });
    await group.printed(/all processes are up/);
    return group;
  }

  /** The address that it reports. @throws while it is not ready */
  get url(): string {
    const url = /"url":"([^"]+)"/.exec(this.output)?.[1];
    if (url === undefined) throw new Error(`no gateway yet: ${this.output}`);
    return url;
  }
}
