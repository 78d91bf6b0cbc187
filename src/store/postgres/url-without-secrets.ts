const HIDDEN = '***';
/** `password`, `sslpassword`, and what other protocols may call theirs. */
const SECRET_NAME = /pass|secret|token|key/i;

/** A URL as it may be printed: without its password, wherever it stands. Text that is no URL is not shown, because its parts are unknown. */
export function urlWithoutSecrets(text: string): string {
  const url = URL.parse(text);
  // `user:password@host/database` has the form of a URL with the protocol `user:`.
  if (url === null || (url.host === '' && text.includes('@'))) return '(not a URL)';
  if (url.password) url.password = HIDDEN;
  for (const name of new Set(url.searchParams.keys())) if (SECRET_NAME.test(name)) url.searchParams.set(name, HIDDEN);
  return url.href;
}
