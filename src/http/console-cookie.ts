import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * `__Host-`: for this host only, for all paths, over HTTPS (RFC 6265bis 4.1.3.2). A demo uses HTTP on the local
 * machine.
 */
const SECURE_NAME = '__Host-tapwire-console';
const PLAIN_NAME = 'tapwire-console';
const ALWAYS = 'Path=/; HttpOnly; SameSite=Strict';

export interface ConsoleCookie {
  /** @returns undefined if the request has no such cookie */
  read(request: FastifyRequest): string | undefined;
  set(reply: FastifyReply, secret: string, seconds: number): void;
  clear(reply: FastifyReply): void;
}

/** @param isSecure false only in dev, because browsers do not return a secure cookie over HTTP */
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
      // If there are two cookies with this name, one of them was set by another party.
      return own.length === 1 ? own[0]!.slice(name.length + 1) : undefined;
    },
    set: (reply, secret, seconds) => write(reply, secret, Math.floor(seconds)),
    clear: (reply) => write(reply, '', 0),
  };
}
