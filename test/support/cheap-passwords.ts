import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Lets the gateways in the process of a test derive passwords at a hundredth of the cost, the same for every password. At full
 * cost (test/auth/portal/password.test.ts), the logins of tests took a seventh of the processor time of `npm test`.
 */
const MAX_COST = 1_024;
const NAME = 'capped';

const { scrypt } = crypto;
if (scrypt.name !== NAME) {
  const derive = scrypt as (...args: unknown[]) => void;
  const capped = (password: unknown, salt: unknown, length: unknown, options: { readonly N: number }, done: unknown) =>
    derive(password, salt, length, { ...options, N: Math.min(options.N, MAX_COST) }, done);
  Object.defineProperty(crypto, 'scrypt', { value: capped, configurable: true, writable: true });
  syncBuiltinESMExports();
}
