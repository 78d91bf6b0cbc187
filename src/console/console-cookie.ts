import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * `__Host-`: for this host only, for all paths, over HTTPS (RFC 6265bis 4.1.3.2). A demo uses HTTP on the local
 * machine.
 */
const SECURE_PREFIX = '__Host-';

/** The cookies of the console. */
const COOKIES = {
  /** The session. No other site can cause it to be sent. */
  console: 'Path=/; HttpOnly; SameSite=Strict',
  /** A sign-in that has begun. The navigation from the identity provider back to the callback must send it. */
  'sign-in': 'Path=/; HttpOnly; SameSite=Lax',
} as const;

export interface ConsoleCookie {
  /** @returns undefined if the request has no such cookie */
  read(request: { readonly headers: Pick<FastifyRequest['headers'], 'cookie'> }): string | undefined;
  set(reply: FastifyReply, secret: string, seconds: number): void;
  clear(reply: FastifyReply): void;
}

/** @param isSecure false only in dev, because browsers do not return a secure cookie over HTTP */
export function createConsoleCookie(isSecure: boolean, kind: keyof typeof COOKIES = 'console'): ConsoleCookie {
  const name = `${isSecure ? SECURE_PREFIX : ''}tapwire-${kind}`;
  const attributes = isSecure ? `${COOKIES[kind]}; Secure` : COOKIES[kind];
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
