import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { StartError } from '../../../basics/errors.ts';
import { FrameSocket } from './frame-socket.ts';

/** A ceremony that has not ended by then is cancelled. */
export const CEREMONY_MS = 900_000;

const PREFIX = 'hsm-ceremony-';
const SOCKET = 'socket';
/** The shortest limit of the supported systems for the path of a socket. */
const MOST_PATH_BYTES = 103;
const ID = /^[A-Za-z0-9]{6}$/;

/** Where the second custodian joins: a socket in a folder that only this user of the machine can enter. */
export interface CeremonyPlace {
  readonly id: string;
  close(): Promise<void>;
}

/**
 * Opens the place of a ceremony. One custodian joins at a time.
 *
 * @param onJoin serves a custodian until it resolves
 * @throws StartError BAD_CONFIG if the path of the data folder is too long for a socket
 */
export async function openPlace(
  dataFolder: string,
  onJoin: (socket: FrameSocket) => Promise<void>,
): Promise<CeremonyPlace> {
  await mkdir(dataFolder, { recursive: true });
  await removeAbandoned(dataFolder);
  const folder = await mkdtemp(join(dataFolder, PREFIX));
  const sockets = new Set<net.Socket>();
  let isJoined = false;
  const server = net.createServer((socket) => {
    if (isJoined) return void socket.destroy();
    isJoined = true;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    void onJoin(new FrameSocket(socket)).finally(() => {
      isJoined = false;
      socket.end();
    });
  });
  const close = async () => {
    for (const socket of sockets) socket.destroySoon();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const path = socketPath(folder);
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
    await chmod(path, 0o600);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return { id: folder.slice(-6), close };
}

/** @throws StartError BAD_CONFIG if there is no such ceremony */
export async function joinPlace(dataFolder: string, id: string): Promise<FrameSocket> {
  if (!ID.test(id))
    throw new StartError('BAD_CONFIG', '--join: expected the 6 characters that the first terminal shows');
  const socket = net.connect(socketPath(join(dataFolder, PREFIX + id)));
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject)).catch((cause) => {
    throw new StartError('BAD_CONFIG', `--join ${id}: there is no such ceremony for this user, or it has ended`, {
      cause,
    });
  });
  return new FrameSocket(socket);
}

function socketPath(folder: string): string {
  const path = join(folder, SOCKET);
  if (Buffer.byteLength(path) > MOST_PATH_BYTES)
    throw new StartError('BAD_CONFIG', `${path}: is too long for a socket; set TAPWIRE_DATA to a shorter path`);
  return path;
}

/** A process that was killed leaves its folder behind; it contains no key material. */
async function removeAbandoned(dataFolder: string): Promise<void> {
  for (const name of await readdir(dataFolder)) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(dataFolder, name);
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > CEREMONY_MS) await rm(folder, { recursive: true, force: true });
  }
}
