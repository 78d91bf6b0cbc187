import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import net from 'node:net';
import { join } from 'node:path';
import { StartError } from '../../../basics/errors.ts';

const HEAD_BYTES = 2;
/** A login with the longest name and password; a component has 32 bytes. */
const MAX_BYTES = 4_096;

/** Frames on the socket of a ceremony: two bytes of length, then the content. */
export class FrameSocket {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #isClosed = false;
  #waiting: ((frame: Buffer | undefined) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      const before = this.#received;
      this.#received = Buffer.concat([before, chunk]);
      before.fill(0);
      chunk.fill(0);
      if (this.#received.length > HEAD_BYTES + MAX_BYTES) socket.destroy();
      this.#deliver();
    });
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isClosed = true;
        this.#deliver();
        resolve();
      });
    });
  }

  /** The next frame, which the caller wipes; undefined if the other side has ended. */
  receive(): Promise<Buffer | undefined> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#deliver();
    });
  }

  async receiveJson(): Promise<unknown> {
    const frame = await this.receive();
    if (frame === undefined) return undefined;
    const text = frame.toString('utf8');
    frame.fill(0);
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  send(content: Uint8Array): void {
    const frame = Buffer.alloc(HEAD_BYTES + content.length);
    frame.writeUInt16BE(content.length, 0);
    frame.set(content, HEAD_BYTES);
    this.#socket.write(frame, () => frame.fill(0));
  }

  sendJson(content: object): void {
    this.send(Buffer.from(JSON.stringify(content)));
  }

  /** Ends after everything is sent. */
  end(): void {
    this.#socket.end();
  }

  #deliver(): void {
    const resolve = this.#waiting;
    if (resolve === undefined) return;
    const buffer = this.#received;
    const end = buffer.length < HEAD_BYTES ? Number.POSITIVE_INFINITY : HEAD_BYTES + buffer.readUInt16BE(0);
    if (buffer.length >= end) {
      this.#waiting = undefined;
      const frame = Buffer.from(buffer.subarray(HEAD_BYTES, end));
      this.#received = Buffer.from(buffer.subarray(end));
      buffer.fill(0);
      resolve(frame);
    } else if (this.#isClosed) {
      this.#waiting = undefined;
      resolve(undefined);
    }
  }
}

/** A ceremony that has not ended by then is cancelled. */
export const CEREMONY_MS = 900_000;

const PREFIX = 'hsm-ceremony-';
const SOCKET = 'socket';
/** The shortest limit of the supported systems for the path of a socket. */
const MAX_PATH_BYTES = 103;
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
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
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
