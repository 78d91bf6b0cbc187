/**
 * The page loads nothing from other origins, sends nothing to them, contains no inline code, and cannot be framed.
 */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** Headers of every HTML page. `directives` extends or narrows the policy for one page. */
export function pageHeaders(directives: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const policy = Object.entries({ ...POLICY, ...directives }).map(([name, sources]) => `${name} ${sources}`);
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}
