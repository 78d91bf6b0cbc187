import type { Server } from 'node:net';
import tls from 'node:tls';
import { ConnectionError, PlugInError, StartError } from '../../basics/errors.ts';
import { checkFraming } from '../../codecs/iso8583/network/framing.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { framingOf } from '../../kits/processor-kit/switch-protocol.ts';
import type { MayDial } from '../../outbound/guarded-lookup.ts';
import { listenForSwitch } from '../connection/acceptor.ts';
import type { AcceptOptions, ConnectionLog } from '../connection/pool-types.ts';
import type { SwitchAddress } from '../connection/switch-socket.ts';
import type { SwitchAccess } from './access/switch-access.ts';
import { SwitchTlsFiles } from './switch-tls-files.ts';

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
export interface TransportOwner {
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
