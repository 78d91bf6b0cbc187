// How a request is written as a command and as code. The gateway uses it to render a page, and the page uses it when a
// reader changes a value: it is served without its types.

export interface SampleRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON text; undefined if the request has no body. */
  readonly body: string | undefined;
}

export interface SampleParameter {
  readonly name: string;
  readonly in: string;
  readonly value: string;
}

/** The URL of a request; parameters without a value are left out, and those of the path stay as `{name}`. */
export function sampleUrl(base: string, path: string, parameters: readonly SampleParameter[]): string {
  const given = parameters.filter(({ value }) => value !== '');
  const inPath = new Map(given.filter((each) => each.in === 'path').map(({ name, value }) => [name, value]));
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = inPath.get(name);
    return value === undefined ? whole : encodeURIComponent(value);
  });
  const query = given
    .filter((each) => each.in === 'query')
    .map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return base + filled + (query.length > 0 ? `?${query.join('&')}` : '');
}

/** A curl command for a POSIX shell. Variables such as `$TAPWIRE_API_KEY` in a header are expanded by the shell. */
export function curlOf({ method, url, headers, body }: SampleRequest): string {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`];
  for (const [name, value] of headers) lines.push(`-H ${quotedHeader(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`--data-raw ${quoted(body)}`);
  return lines.join(' \\\n  ');
}

/** A request with `fetch`, for Node.js. */
export function fetchOf({ method, url, headers, body }: SampleRequest): string {
  const rows = headers.map(([name, value]) => `    ${JSON.stringify(name)}: ${codeOf(value)},\n`);
  return [
    `const response = await fetch(${JSON.stringify(url)}, {\n`,
    `  method: ${JSON.stringify(method)},\n`,
    ...(rows.length > 0 ? ['  headers: {\n', ...rows, '  },\n'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${body.replaceAll('\n', '\n  ')}),\n`]),
    '});\n',
    'console.log(response.status, await response.text());',
  ].join('');
}

const VARIABLE = /\$([A-Z][A-Z_]+)/;

function codeOf(value: string): string {
  const name = VARIABLE.exec(value)?.[1];
  if (name === undefined) return JSON.stringify(value);
  return value === `$${name}` ? `process.env.${name}` : `\`${value.replace(VARIABLE, `\${process.env.${name}}`)}\``;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quotedHeader(text: string): string {
  return VARIABLE.test(text) ? `"${text.replace(/["\\`]/g, '\\$&')}"` : quoted(text);
}
