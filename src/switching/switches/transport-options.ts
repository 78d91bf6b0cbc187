import { realpath } from 'node:fs/promises';
import type { Server } from 'node:net';
import { resolve, sep } from 'node:path';
import { ConnectionError, PlugInError, StartError } from '../../basics/errors.ts';
import { checkFraming } from '../../codecs/iso8583/network/framing.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { framingOf } from '../../kits/processor-kit/switch-protocol.ts';
import type { MayDial } from '../../outbound/guarded-lookup.ts';
import { listenForSwitch } from '../connection/acceptor.ts';
import { checkPem, readPem } from '../connection/pem-files.ts';
import type { AcceptOptions } from '../connection/pool-types.ts';
import type { SwitchAddress, SwitchTls } from '../connection/switch-socket.ts';
import type { SwitchAccess } from './access/switch-access.ts';

/** The connection settings of a switch's configuration in the form that the pool takes. */
export interface TransportOptions {
  readonly addresses: readonly SwitchAddress[];
  readonly balance: SwitchConfig['balance'];
  readonly connectionsPerAddress: number;
  readonly tls: SwitchTls | undefined;
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
  { acquirerId, access }: { readonly acquirerId: number; readonly access: SwitchAccess },
): Promise<TransportOptions> {
  const { addresses, balance, connectionsPerAddress, accept } = config;
  if (addresses.length === 0 && !accept) {
    throw new StartError('BAD_PROCESSOR', `${where}: neither addresses to connect to, nor accept`);
  }
  const secure = config.tls && (await readTls(config.tls, access.tlsFolder(acquirerId), where));
  const mayDial: MayDial = (address, port) => access.mayDial(acquirerId, address, port);
  const options = { addresses, balance, connectionsPerAddress, tls: secure, mayDial };
  if (!accept) return { ...options, accept: undefined };
  const { from, maxConnections } = accept;
  return { ...options, accept: { server: await listen(accept, secure, where), from, maxConnections } };
}

type TlsFiles = NonNullable<SwitchConfig['tls']>;

async function readTls({ serverName, ...files }: TlsFiles, directory: string, where: string): Promise<SwitchTls> {
  if ((files.certFile === undefined) !== (files.keyFile === undefined)) {
    throw new StartError('BAD_PROCESSOR', `${where}: tls.certFile and tls.keyFile go together`);
  }
  const read = async (name: keyof typeof files): Promise<string | undefined> => {
    const path = files[name];
    if (path === undefined) return undefined;
    return readBelow(directory, path).catch((cause: NodeJS.ErrnoException) => {
      throw new StartError('BAD_PROCESSOR', `${where}: tls.${name} ${path} cannot be read (${cause.code})`);
    });
  };
  const pem = { ca: await read('caFile'), cert: await read('certFile'), key: await read('keyFile') };
  checkPem(pem, 'BAD_PROCESSOR', where);
  return { serverName, ...pem };
}

/** @throws Error whose `code` has the reason; OUTSIDE if the path, with links followed, leads out of the directory */
async function readBelow(directory: string, path: string): Promise<string> {
  const root = await realpath(directory);
  const file = await realpath(resolve(root, path));
  if (!file.startsWith(root + sep))
    throw Object.assign(new Error("it leads out of the acquirer's folder"), { code: 'OUTSIDE' });
  return readPem(file);
}

type Accept = NonNullable<SwitchConfig['accept']>;

async function listen(address: Accept, secure: SwitchTls | undefined, where: string): Promise<Server> {
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
