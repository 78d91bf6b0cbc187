import { X509Certificate } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import type { Server } from 'node:net';
import { resolve, sep } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import tls from 'node:tls';
import { ConnectionError, PlugInError, StartError } from '../../basics/errors.ts';
import { followFiles } from '../../basics/files/change-file.ts';
import { checkFraming } from '../../codecs/iso8583/network/framing.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { framingOf } from '../../kits/processor-kit/switch-protocol.ts';
import type { MayDial } from '../../outbound/switch-lookup.ts';
import { listenForSwitch } from '../connection/acceptor.ts';
import type { AcceptOptions, ConnectionLog } from '../connection/pool-types.ts';
import type { SwitchAddress, SwitchTls } from '../connection/switch-socket.ts';
import type { SwitchAccess } from './access/switch-access.ts';

/** The connection settings of a switch's configuration in the form that the pool takes. */
export interface TransportOptions {
  readonly addresses: readonly SwitchAddress[];
  readonly balance: SwitchConfig['balance'];
  readonly connectionsPerAddress: number;
  readonly tls: SwitchTlsFiles | undefined;
  readonly accept: AcceptOptions | undefined;
  readonly mayDial: MayDial;
}

/**
 * @throws StartError BAD_PROCESSOR if the dialect does not allow the transport header of the configuration, or no
 * frame could satisfy the framing
 */
export function checkTransport(processor: Processor, config: SwitchConfig, where: string): void {
  try {
    checkFraming(framingOf(processor, config));
  } catch (fault) {
    if (fault instanceof PlugInError) throw new StartError('BAD_PROCESSOR', `${where}: ${fault.reason}`);
    if (fault instanceof ConnectionError) throw new StartError('BAD_PROCESSOR', `${where}: ${fault.message}`);
    throw fault;
  }
}

/**
 * Reads the files that the configuration names and starts to listen if the switch connects to the gateway.
 *
 * @throws StartError BAD_PROCESSOR if a file cannot be read, the address is not available, or no connection is
 * configured
 */
export async function openTransportOptions(
  config: SwitchConfig,
  where: string,
  { acquirerId, access, log }: TransportOwner,
): Promise<TransportOptions> {
  const { addresses, balance, connectionsPerAddress, accept } = config;
  if (addresses.length === 0 && !accept) {
    throw new StartError('BAD_PROCESSOR', `${where}: neither addresses to connect to, nor accept`);
  }
  const secure = config.tls && (await SwitchTlsFiles.read(config.tls, access.tlsFolder(acquirerId), where));
  const mayDial: MayDial = (address, port) => access.mayDial(acquirerId, address, port);
  const options = { addresses, balance, connectionsPerAddress, tls: secure, mayDial };
  const server = accept && (await listen(accept, secure, where));
  secure?.follow(log, () => server instanceof tls.Server && server.setSecureContext(secure.context));
  if (!accept || !server) return { ...options, accept: undefined };
  const { from, maxConnections } = accept;
  return { ...options, accept: { server, from, maxConnections } };
}

/** Of `openTransportOptions`: to whom the switch belongs, and where renewed certificates are logged. */
interface TransportOwner {
  readonly acquirerId: number;
  readonly access: SwitchAccess;
  readonly log: ConnectionLog;
}

type Accept = NonNullable<SwitchConfig['accept']>;

async function listen(address: Accept, secure: SwitchTlsFiles | undefined, where: string): Promise<Server> {
  if (secure && (secure.cert === undefined || secure.key === undefined)) {
    throw new StartError('BAD_PROCESSOR', `${where}: accept with tls needs tls.certFile and tls.keyFile`);
  }
  try {
    return await listenForSwitch(address, secure && { cert: secure.cert!, key: secure.key!, ca: secure.ca });
  } catch (cause) {
    const code = (cause as { code?: string }).code ?? 'unknown';
    throw new StartError('BAD_PROCESSOR', `${where}: cannot listen on ${address.host}:${address.port} (${code})`, {
      cause,
    });
  }
}

/** A bundle of every public authority has a quarter of this size. */
const MAX_PEM_BYTES = 1_048_576;

/** @throws the error of the file system, or TOO_LONG, as `code` of an Error */
export async function readPem(path: string): Promise<string> {
  if ((await stat(path)).size > MAX_PEM_BYTES) throw Object.assign(new Error('it is too long'), { code: 'TOO_LONG' });
  return readFile(path, 'utf8');
}

/**
 * Checks that TLS can use the texts of PEM files.
 *
 * @param where begins the message: the place that names the files
 * @throws StartError with `code`
 */
export function checkPem(pem: SwitchTls, code: 'BAD_CONFIG' | 'BAD_PROCESSOR', where: string): void {
  try {
    // Node ignores an authorities file without a certificate and trusts the system's authorities instead.
    if (pem.ca !== undefined) new X509Certificate(pem.ca);
    tls.createSecureContext({ ca: pem.ca, cert: pem.cert, key: pem.key });
  } catch (cause) {
    const reason = (cause as { code?: string }).code ?? 'unknown';
    throw new StartError(code, `${where}: its tls files cannot be used (${reason})`, { cause });
  }
}

type FileNames = NonNullable<SwitchConfig['tls']>;

interface Pem {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** A certificate that is in use. */
export interface UsedCertificate {
  /** `own`: what the gateway presents. `authority`: what the switch's certificate is checked with. */
  readonly use: 'own' | 'authority';
  readonly expiresAtMs: number;
}

/**
 * The TLS files of a switch. Each connection uses what they contained when it was opened, so that a renewed certificate
 * takes effect without a restart.
 */
export class SwitchTlsFiles implements SwitchTls {
  readonly serverName: string | undefined;
  readonly #names: FileNames;
  readonly #folder: string;
  readonly #where: string;
  #pem: Pem;
  #certificates: readonly UsedCertificate[];
  #stop: (() => void) | undefined;

  private constructor(names: FileNames, folder: string, where: string, pem: Pem) {
    this.serverName = names.serverName;
    this.#names = names;
    this.#folder = folder;
    this.#where = where;
    this.#pem = pem;
    this.#certificates = certificatesOf(pem);
  }

  /**
   * @param folder of the acquirer; the files are in it
   * @throws StartError BAD_PROCESSOR if a file cannot be read or used
   */
  static async read(names: FileNames, folder: string, where: string): Promise<SwitchTlsFiles> {
    return new SwitchTlsFiles(names, folder, where, await readPems(names, folder, where));
  }

  get ca(): string | undefined {
    return this.#pem.ca;
  }

  get cert(): string | undefined {
    return this.#pem.cert;
  }

  get key(): string | undefined {
    return this.#pem.key;
  }

  /** For a server to which the switch connects. */
  get context(): SecureContextOptions {
    return { ...this.#pem, minVersion: 'TLSv1.2' };
  }

  get certificates(): readonly UsedCertificate[] {
    return this.#certificates;
  }

  /**
   * Follows the files until `close`. If they cannot be used, the previous content remains in use.
   *
   * @param onReplaced called when later connections use new files
   */
  follow(log: ConnectionLog, onReplaced: () => void, everyMs?: number): void {
    const { caFile, certFile, keyFile } = this.#names;
    const paths = [caFile, certFile, keyFile].filter((name) => name !== undefined);
    const replace = async () => {
      try {
        this.#pem = await readPems(this.#names, this.#folder, this.#where);
        this.#certificates = certificatesOf(this.#pem);
        onReplaced();
        log.info(
          { switch: this.#where },
          'new TLS files of the switch in use, for connections that are opened from now on',
        );
      } catch (error) {
        const reason = error instanceof StartError ? error.message : 'unknown';
        log.warn({ reason }, 'new TLS files of the switch are unusable, previous files remain in use');
      }
    };
    this.#stop = followFiles(
      paths.map((name) => resolve(this.#folder, name)),
      () => void replace(),
      everyMs,
    );
  }

  close(): void {
    this.#stop?.();
  }
}

function certificatesOf({ ca, cert }: Pem): UsedCertificate[] {
  const expiryOf = (pem: string) => new X509Certificate(pem).validToDate.getTime();
  return [
    ...(cert === undefined ? [] : [{ use: 'own', expiresAtMs: expiryOf(cert) } as const]),
    ...(ca === undefined ? [] : [{ use: 'authority', expiresAtMs: expiryOf(ca) } as const]),
  ];
}

async function readPems({ serverName: _, ...files }: FileNames, folder: string, where: string): Promise<Pem> {
  if ((files.certFile === undefined) !== (files.keyFile === undefined)) {
    throw new StartError('BAD_PROCESSOR', `${where}: tls.certFile and tls.keyFile go together`);
  }
  const read = async (name: keyof typeof files): Promise<string | undefined> => {
    const path = files[name];
    if (path === undefined) return undefined;
    return readBelow(folder, path).catch((cause: NodeJS.ErrnoException) => {
      throw new StartError('BAD_PROCESSOR', `${where}: tls.${name} ${path} cannot be read (${cause.code})`);
    });
  };
  const pem = { ca: await read('caFile'), cert: await read('certFile'), key: await read('keyFile') };
  checkPem(pem, 'BAD_PROCESSOR', where);
  return pem;
}

/** @throws Error whose `code` has the reason; OUTSIDE if the path, with links followed, leads out of the folder */
async function readBelow(folder: string, path: string): Promise<string> {
  const root = await realpath(folder);
  const file = await realpath(resolve(root, path));
  if (!file.startsWith(root + sep))
    throw Object.assign(new Error("it leads out of the acquirer's folder"), { code: 'OUTSIDE' });
  return readPem(file);
}
