import net from 'node:net';
import tls from 'node:tls';
import { BlockKey, setOddParity } from '../../../codecs/crypto/block-key.ts';
import type { KeyUsage } from '../../../codecs/crypto/hsm.ts';
import { kcv } from '../../../codecs/crypto/mac.ts';
import type { SoftHsmKey } from '../../../codecs/crypto/soft-hsm.ts';
import { FrameFault, FrameReader, frameOf } from '../../../hsm-devices/payshield/device/connection.ts';
import type { PayshieldFile } from '../../../hsm-devices/payshield/open-payshield.ts';
import { listen, stopListening } from '../listening.ts';
import { respondToCommand } from './host-commands.ts';
import { KEY_USES, type LmkForm, TestLmk } from './test-lmk.ts';

export interface SimulatedPayshieldOptions {
  readonly port: number;
  readonly host: string;
  readonly lmkForm?: LmkForm | undefined;
  readonly headerLength?: number | undefined;
  /** PEM texts. With `ca`, a client needs a certificate. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string | undefined } | undefined;
  /** The time of each command. */
  readonly latencyMs?: number | undefined;
}

const HEADER_LENGTH = 4;
const CODE_CHARS = 2;

/** A device for tests and demos, with a test LMK that everybody knows. It responds to the commands that the gateway sends. */
export class SimulatedPayshield {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  readonly #lmk: TestLmk;
  readonly #headerLength: number;
  readonly #latencyMs: number;

  /** Starts to listen. @throws SimulatorError PORT_TAKEN */
  static async start(options: SimulatedPayshieldOptions): Promise<{ device: SimulatedPayshield; port: number }> {
    const device = new SimulatedPayshield(options);
    return { device, port: await listen(device.#server, options.port, options.host) };
  }

  private constructor({ tls: secure, lmkForm, headerLength, latencyMs }: SimulatedPayshieldOptions) {
    this.#lmk = new TestLmk(lmkForm ?? 'variant');
    this.#headerLength = headerLength ?? HEADER_LENGTH;
    this.#latencyMs = latencyMs ?? 0;
    const accept = (socket: net.Socket) => this.#accept(socket);
    this.#server = secure
      ? tls.createServer({ ...secure, requestCert: secure.ca !== undefined, minVersion: 'TLSv1.2' }, accept)
      : net.createServer(accept);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await stopListening(this.#server);
  }

  #accept(socket: net.Socket): void {
    this.#sockets.add(socket);
    const frames = new FrameReader(this.#headerLength + CODE_CHARS);
    socket.setNoDelay(true);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      try {
        frames.read(chunk, (message) => this.#respond(socket, message));
      } catch (error) {
        if (!(error instanceof FrameFault)) throw error;
        socket.destroy();
      }
    });
  }

  #respond(socket: net.Socket, message: Uint8Array): void {
    const header = message.subarray(0, this.#headerLength);
    const response = respondToCommand(message.subarray(this.#headerLength), this.#lmk);
    const send = () => {
      if (socket.writable) socket.write(frameOf(header, Buffer.from(response, 'latin1')));
    };
    if (this.#latencyMs === 0) send();
    else setTimeout(send, this.#latencyMs);
  }
}

const USES: Readonly<Record<KeyUsage, keyof typeof KEY_USES>> = {
  keyEncryption: 'ZMK',
  keyBlockProtection: 'ZMK',
  pin: 'ZPK',
  mac: 'ZAK',
  dukptBase: 'BDK',
};

export interface DemoDevices {
  readonly ports: readonly number[];
  close(): Promise<void>;
}

/** Starts a device on each port; all have the same LMK. @throws SimulatorError PORT_TAKEN */
export async function startDemoDevices(
  ports: readonly number[],
  options: Omit<SimulatedPayshieldOptions, 'port'>,
): Promise<DemoDevices> {
  const started: { device: SimulatedPayshield; port: number }[] = [];
  const close = async () => void (await Promise.all(started.map(({ device }) => device.close())));
  try {
    for (const port of ports) started.push(await SimulatedPayshield.start({ ...options, port }));
  } catch (error) {
    await close();
    throw error;
  }
  return { ports: started.map(({ port }) => port), close };
}

/**
 * The keys of a gateway's configuration file, under the test LMK. Under a variant LMK there are no AES keys.
 *
 * @param keys known to everybody
 */
export function demoLmkKeys(keys: readonly SoftHsmKey[], form: LmkForm): PayshieldFile['keys'] {
  const lmk = new TestLmk(form);
  return keys
    .filter(({ algorithm }) => form === 'keyBlock' || algorithm === 'tdes')
    .map(({ keyId, usage, algorithm, bytes }) => {
      const clear = Uint8Array.from(bytes.reveal());
      if (algorithm === 'tdes') setOddParity(clear);
      const key = new BlockKey(algorithm, clear);
      const blockUsage = usage === 'mac' && key.lengthBytes === 8 ? 'M1' : undefined;
      return {
        keyId,
        usage,
        algorithm,
        lengthBytes: key.lengthBytes as 8 | 16 | 24 | 32,
        key: lmk.protect(key, KEY_USES[USES[usage]], blockUsage),
        kcv: kcv(key),
      };
    });
}
