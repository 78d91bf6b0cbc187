/** `Link: <…>; rel="next"` (RFC 8288): the same list, going on behind the row whose id is `after`. */
export function nextPage(url: string, after: string): string {
  const [path, search = ''] = url.split('?', 2) as [string, string?];
  const parameters = new URLSearchParams(search);
  parameters.delete('offset');
  parameters.set('after', after);
  return `<${path}?${parameters}>; rel="next"`;
}
