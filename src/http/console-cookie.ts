import type { FastifyReply, FastifyRequest } from 'fastify';

/** `__Host-`: of this host alone, whole, over HTTPS (RFC 6265bis 4.1.3.2). A demo speaks HTTP, to its own machine. */
const SECURE_NAME = '__Host-tapwire-console';
const PLAIN_NAME = 'tapwire-console';
const ALWAYS = 'Path=/; HttpOnly; SameSite=Strict';

export interface ConsoleCookie {
  /** Undefined where there is none. */
  read(request: FastifyRequest): string | undefined;
  set(reply: FastifyReply, secret: string, seconds: number): void;
  clear(reply: FastifyReply): void;
}

/** @param isSecure everywhere but in dev, where it would not come back over HTTP */
export function createConsoleCookie(isSecure: boolean): ConsoleCookie {
  const name = isSecure ? SECURE_NAME : PLAIN_NAME;
  const attributes = isSecure ? `${ALWAYS}; Secure` : ALWAYS;
  const write = (reply: FastifyReply, value: string, seconds: number) =>
    void reply.header('set-cookie', `${name}=${value}; ${attributes}; Max-Age=${seconds}`);
  return {
    read({ headers: { cookie = '' } }) {
      const own = cookie
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`));
      // Of two, one is not ours.
      return own.length === 1 ? own[0]!.slice(name.length + 1) : undefined;
    },
    set: (reply, secret, seconds) => write(reply, secret, Math.floor(seconds)),
    clear: (reply) => write(reply, '', 0),
  };
}
