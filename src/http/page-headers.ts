/** Nothing comes from elsewhere, nothing goes elsewhere, nothing stands in the page itself, and no page has it in a frame. */
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

/** What every page for people is served with. `directives`: where one needs more of the policy, or can do with less. */
export function pageHeaders(directives: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const policy = Object.entries({ ...POLICY, ...directives }).map(([name, sources]) => `${name} ${sources}`);
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}
