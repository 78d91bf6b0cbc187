import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';

const CONFIG = fileURLToPath(new URL('../../deploy/haproxy/haproxy.cfg', import.meta.url));

/** HAProxy with the configuration of deploy/haproxy. */
export class OwnProxy {
  readonly port: number;
  readonly map: string;
  readonly socket: string;
  readonly #process: ChildProcess;

  private constructor(port: number, map: string, socket: string, child: ChildProcess) {
    this.port = port;
    this.map = map;
    this.socket = socket;
    this.#process = child;
  }

  /** @param map lines of the map file */
  static async start(folder: string, map: readonly string[], ports: readonly [number, number]): Promise<OwnProxy> {
    const port = await freePort();
    const files = { map: join(folder, 'cells.map'), socket: join(folder, 'haproxy.sock') };
    writeFileSync(files.map, `${map.join('\n')}\n`);
    const child = spawn('haproxy', ['-db', '-f', CONFIG], {
      env: {
        ...{ PATH: `${process.env.PATH}:/usr/sbin`, CELLS_LISTEN: `127.0.0.1:${port}`, CELLS_SOCKET: files.socket },
        ...{ CELLS_MAP: files.map, CELL_A_API: `127.0.0.1:${ports[0]}`, CELL_B_API: `127.0.0.1:${ports[1]}` },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    process.once('exit', () => child.kill('SIGKILL')); // also if the test fails
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => appendFileSync(join(folder, 'haproxy.log'), text));
    await eventually(() => {
      if (!existsSync(files.socket)) throw new Error('HAProxy has not started');
    });
    return new OwnProxy(port, files.map, files.socket, child);
  }

  async close(): Promise<void> {
    this.#process.kill('SIGTERM');
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}
