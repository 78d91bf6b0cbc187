import { X509Certificate } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { StartError } from '../../basics/errors.ts';
import { followFiles } from '../../basics/files/follow-files.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { checkPem, readPem } from '../connection/pem-files.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import type { SwitchTls } from '../connection/switch-socket.ts';

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
